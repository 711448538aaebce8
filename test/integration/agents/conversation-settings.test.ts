import { EVERY_SETTING } from '../../support/conversation-settings.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { environmentWith, matrixCells, SETTINGS_MATRIX, type MatrixColumn } from '../../support/settings-matrix.js';

const COLUMN = 'deepgram-flux';
/** The columns of the matrix that one configuration has. */
const HERE: readonly MatrixColumn[] = [
  'openai-realtime',
  'offline-demo',
  'pipeline',
  COLUMN,
  'openai-chat',
  'elevenlabs',
];

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;

beforeAll(async () => {
  service = await startService({ env: environmentWith(COLUMN) });
  api = managementOf(service);
  customer = await service.customer();
});
afterAll(() => service.close());

/** The settings that an engine of this service supports. */
const supportedBy = (engine: string) =>
  Object.fromEntries(
    SETTINGS_MATRIX.filter(
      (cell) => cell.engine === engine && HERE.includes(cell.column) && cell.support.done !== 'unsupported',
    ).map(({ field, value }) => [field, value]),
  );

const create = (fields: object, key = customer.liveKey) =>
  api.post('/agents', key, { name: 'A', instruction: 'Be kind.', ...fields });

describe('the settings of an agent’s conversation', () => {
  it('are stored, shown, kept by a call, and removed by null', async () => {
    // OpenAI ends turns by meaning or by silence.
    const { end_of_turn_eagerness: _eagerness, ...realtime } = supportedBy('openai-realtime');
    const pipeline = supportedBy('pipeline');
    expect(Object.keys({ ...realtime, ...pipeline, end_of_turn_eagerness: 'low' }).toSorted()).toEqual(
      Object.keys(EVERY_SETTING).toSorted(),
    );
    for (const [engine, settings] of [
      ['openai-realtime', realtime],
      ['pipeline', pipeline],
    ] as const) {
      const created = await create({ engine, ...settings });
      expect(created).toMatchObject({ status: 200, json: { engine, ...settings } });
      const agentId = String(created.json['agent_id']);
      const path = `/agents/${agentId}`;
      // No provider could be asked about the model and the voice. The voices of OpenAI Realtime are known without asking.
      const { warnings, ...agent } = created.json;
      expect((warnings as { param: string }[]).map(({ param }) => param).toSorted()).toEqual(
        engine === 'pipeline' ? ['model', 'voice_id'] : ['model'],
      );
      expect((await api.get(path, customer.liveKey)).json).toEqual(agent);

      // A test call ignores the settings.
      const placed = await service.place(customer.testKey, { to_phone_number: '+12025550100', agent_id: agentId });
      expect(placed.status).toBe(200);
      const request = await service.database.callRequests.findById(placed.json['call_id']).lean();
      expect(request?.agent).toMatchObject({ agentId, model: 'gpt-6-luna', firstMessage: 'Hello {{customer}}.' });
      expect(request?.agent.pronunciations).toEqual(EVERY_SETTING.pronunciations);

      const removed = Object.fromEntries(Object.keys(settings).map((name) => [name, null]));
      const cleared = await api.patch(path, customer.liveKey, removed);
      expect(cleared.status).toBe(200);
      for (const name of Object.keys(settings)) expect(cleared.json).not.toHaveProperty(name);
    }
  });

  it.each(
    matrixCells('unsupported')
      .filter(({ column }) => HERE.includes(column))
      .map((cell) => [cell.key, cell] as const),
  )('are rejected when the agent is saved: %s', async (_, { field, engine, value }) => {
    const answer = await create({ engine, [field]: value });
    expectError(answer, 400, 'MISSING_PARAMS', /use an engine that supports it/);
    expect(answer.json['fields']).toEqual({ [field]: expect.stringMatching(`^${field}: ${engine}`) });
  });

  it('are rejected together, with a sentence for each field', async () => {
    const answer = await create({
      engine: 'pipeline',
      speech_speed: 2,
      noise_reduction: 'near_field',
      temperature: 0.5,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /speech_speed.*noise_reduction/);
    expect(answer.json['fields']).toEqual({
      speech_speed: 'speech_speed: pipeline with elevenlabs accepts only 0.7 to 1.2.',
      noise_reduction: expect.stringMatching('remove the setting, or use an engine that supports it: openai-realtime'),
    });
  });

  it('stay with an agent whose engine no longer supports them: it can be read, changed and used', async () => {
    const { _id } = customer.agent;
    await service.database.agents.updateOne({ _id }, { engine: 'openai-realtime', temperature: 1.5 });
    expect((await api.get(`/agents/${_id}`, customer.liveKey)).json).toMatchObject({ temperature: 1.5 });
    const all = { name: 'B', temperature: 1.5, keyterms: ['Callwright'] };
    expect((await api.patch(`/agents/${_id}`, customer.liveKey, all)).json).toMatchObject(all);
    expectError(
      await api.patch(`/agents/${_id}`, customer.liveKey, { temperature: 1 }),
      400,
      'MISSING_PARAMS',
      /temperature/,
    );
    const placed = await service.place(customer.liveKey, { to_phone_number: '+12025550100', agent_id: _id });
    expect(placed.status).toBe(200);
  });

  it('count toward the size of the prompt where the model reads them', async () => {
    const pronunciations = Array.from({ length: 25 }, () => ({ text: 'ä'.repeat(100), spoken: 'ö'.repeat(100) }));
    const instruction = 'ü'.repeat(28_000);
    const answer = await create({ engine: 'pipeline', instruction, pronunciations });
    expectError(answer, 400, 'MISSING_PARAMS', /^instruction: .* have 66000 bytes/);
    const path = `/agents/${String((await create({ engine: 'pipeline', instruction })).json['agent_id'])}`;
    const change = await api.patch(path, customer.liveKey, { pronunciations });
    expectError(change, 400, 'MISSING_PARAMS', /^pronunciations: .* have 66000 bytes/);
    const longer = await api.patch(path, customer.liveKey, { pronunciations: pronunciations.slice(0, 23) });
    expect(longer.status).toBe(200);
    const message = await api.patch(path, customer.liveKey, { first_message: 'ß'.repeat(1_000) });
    expectError(message, 400, 'MISSING_PARAMS', /^first_message: /);
  });
});
