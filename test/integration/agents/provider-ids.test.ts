import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { runAdmin, runCli } from '../cli/support/run-cli.js';
import { createFakeProviders } from '../voice/support/start-checks-harness';

const fakes = createFakeProviders();
type Providers = Awaited<ReturnType<typeof fakes.openPipelineProviders>>;

let providers: Providers;
let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
const logged: string[] = [];

beforeAll(async () => {
  providers = await fakes.openPipelineProviders();
  const { env, chat } = providers;
  chat.lists.models.push('talks', 'gpt-old');
  service = await startService({
    worker: false,
    env: {
      ...env,
      LOG_LEVEL: 'warn',
      ENGINE: 'pipeline',
      OPENAI_API_KEY: chat.lists.key,
      OPENAI_BASE_URL: `http://127.0.0.1:${chat.port}/v1`,
    },
    onLog: (line) => void logged.push(line),
  });
  api = managementOf(service);
});
afterAll(async () => {
  await service.close();
  await fakes.close();
});
beforeEach(async () => {
  customer = await service.customer(0);
  providers.chat.lists.asked.length = 0;
  providers.tts.lists.asked.length = 0;
  logged.length = 0;
});

const create = (fields: object, of = customer) =>
  api.post('/agents', of.liveKey, { name: 'A', instruction: 'Be kind.', ...fields });
const shown = ({ json }: { json: Record<string, unknown> }) => json['warnings'] as Record<string, string>[] | undefined;
const asked = () => [...providers.chat.lists.asked, ...providers.tts.lists.asked];
const warnings = () =>
  logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .map(({ field, reason }) => [String(field), reason] as const);

const escaped = (text: string) => text.replace(/[().]/g, '\\$&');

describe('the models and voices that an agent names', () => {
  it('are accepted if the provider of the engine has them', async () => {
    const saved = await create({ model: 'test-model', voice_id: 'voice-amber' });
    expect([saved.status, shown(saved)]).toEqual([200, undefined]);
    expect(asked()).toEqual(['/v1/models/test-model', '/v1/voices/voice-amber']);
    expect((await create({ engine: 'openai-realtime', model: 'talks', voice_id: 'marin' })).status).toBe(200);
    expect(warnings()).toEqual([]);
  });

  it('are rejected if the provider certainly lacks them, with a sentence for each field', async () => {
    const rejected = await create({ model: 'gpt-0', voice_id: 'gone' });
    expectError(rejected, 400, 'MISSING_PARAMS', /model: .* voice_id: /);
    const remedy = 'Use one that it has, or remove the setting.';
    expect(rejected.json['fields']).toEqual({
      model: `model: the provider has no model "gpt-0" for this service. ${remedy}`,
      voice_id: `voice_id: the provider has no voice "gone" for this service. ${remedy}`,
    });
    expectError(await create({ engine: 'openai-realtime', model: 'gpt-1' }), 400, 'MISSING_PARAMS', /^model: /);
    expect((await api.get('/agents', customer.liveKey)).json['data']).toHaveLength(1);
  });

  it('are asked about when an agent changes them, and only then', async () => {
    const path = `/agents/${String((await create({})).json['agent_id'])}`;
    expect(asked()).toEqual([]);
    expectError(await api.patch(path, customer.liveKey, { voice_id: 'lost' }), 400, 'MISSING_PARAMS', /^voice_id: /);
    expect((await api.get(path, customer.liveKey)).json).not.toHaveProperty('voice_id');
    // The provider has lost the voice since the agent was saved.
    await service.database.agents.updateOne({ _id: path.slice('/agents/'.length) }, { voiceId: 'withdrawn' });
    providers.tts.lists.asked.length = 0;
    expect((await api.patch(path, customer.liveKey, { name: 'B', voice_id: 'withdrawn' })).status).toBe(200);
    expect(asked()).toEqual([]);
    expectError(await api.patch(path, customer.liveKey, { engine: 'pipeline' }), 400, 'MISSING_PARAMS', /^voice_id: /);
  });

  it('are asked about once, however many accounts name them', async () => {
    const other = await service.customer(0);
    const ask = async (voiceId: string) => {
      const responses = await Promise.all(
        [customer, other, customer].map((each) => create({ voice_id: voiceId }, each)),
      );
      expect(asked()).toEqual([`/v1/voices/${voiceId}`]);
      providers.tts.lists.asked.length = 0;
      return responses;
    };
    const known = await ask('voice-default');
    expect(known.map(({ status }) => status)).toEqual([200, 200, 200]);
    let missing = await ask('missing-for-all');
    // On a busy machine the provider's answer may come too late. Then the agents are saved with a warning.
    for (let tries = 0; tries < 5 && missing.some((each) => shown(each) !== undefined); tries += 1) {
      missing = await ask(`missing-for-all-${tries}`);
    }
    expect(missing.map(({ status }) => status)).toEqual([400, 400, 400]);
  });

  it('are saved with a warning if the prompt may be longer than a realtime session may have', async () => {
    const instruction = 'Будьте добры. '.repeat(2_300);
    const realtime = { engine: 'openai-realtime', name: 'Long' };
    const saved = await create({ ...realtime, instruction });
    expect(saved.status).toBe(200);
    const why = /^the prompt with its tools may have \d{5} tokens, .* more than 16384\./;
    expect(warnings()).toEqual([['instruction', expect.stringMatching(why)]]);
    expect(logged.join()).not.toContain('добры');
    expect(shown(saved)).toEqual([
      { param: 'instruction', message: expect.stringMatching(/^The prompt .* Shorten it, /) },
    ]);
    const path = `/agents/${String(saved.json['agent_id'])}`;
    expect((await api.patch(path, customer.liveKey, { name: 'B' })).status).toBe(200);
    expect(warnings()).toHaveLength(1);
    expect((await api.patch(path, customer.liveKey, { instruction: 'Be kind.' })).status).toBe(200);
    // The other engines have no such limit.
    expect((await create({ instruction })).status).toBe(200);
    expect(warnings()).toHaveLength(1);
  });

  it('are saved with a warning if an account asks too often', async () => {
    const ids = Array.from({ length: 24 }, (_, index) => `guess-${index}`);
    const statuses: number[] = [];
    for (const id of ids) statuses.push((await create({ voice_id: id })).status);
    expect(statuses).toEqual([...ids.slice(0, 20).map(() => 400), 200, 200, 200, 200]);
    expect(asked()).toHaveLength(20);
    expect(warnings()[0]).toEqual(['voice_id', 'too many checks at the moment']);
    expect(logged.join()).not.toMatch(/guess-\d/);
    const other = await service.customer(0);
    expect((await create({ voice_id: 'guess-other' }, other)).status).toBe(400);
  });

  it.each([
    ['rejects the key', 401, 'the provider rejects the key of this service'],
    ['has no such list', 404, 'status 404'],
    ['is out of order', 500, 'status 500'],
  ])('are saved with a warning if the provider %s', async (_, status, reason) => {
    const { lists } = providers.tts;
    const { key } = lists;
    if (status === 401) lists.key = 'another';
    else lists.failsWith = status;
    const voiceId = `unsure-${status}`;
    const saved = await create({ voice_id: voiceId });
    expect(saved.json).toMatchObject({ voice_id: voiceId });
    expect(warnings()).toEqual([['voice_id', reason]]);
    const message = `The provider could not be asked about it (${reason}). If it is wrong, only a call shows that.`;
    expect(shown(saved)).toEqual([{ param: 'voice_id', message }]);
    // The person who saved it sees the warning, and later requests do not repeat it.
    const path = `/agents/${String(saved.json['agent_id'])}`;
    expect(shown(await api.patch(path, customer.liveKey, { name: 'B' }))).toBeUndefined();
    expect(shown(await api.get(path, customer.liveKey))).toBeUndefined();
    expect(shown(await api.patch(path, customer.liveKey, { voice_id: `${voiceId}-2` }))).toEqual([
      { param: 'voice_id', message },
    ]);
    Object.assign(lists, { key, failsWith: undefined });
  });

  it('are saved with a warning within 1.5 s if the provider does not answer, and not asked about again soon', async () => {
    providers.tts.hanging = true;
    try {
      const from = performance.now();
      expect((await create({ voice_id: 'slow' })).status).toBe(200);
      expect(performance.now() - from).toBeLessThan(1_500);
      const again = performance.now();
      expect((await create({ voice_id: 'slow' })).status).toBe(200);
      expect(performance.now() - again).toBeLessThan(500);
      expect(warnings()).toEqual([
        ['voice_id', 'no response in time'],
        ['voice_id', 'no response in time'],
      ]);
    } finally {
      providers.tts.hanging = false;
    }
  });

  it('are saved with a warning if the provider has no list, or will withdraw them', async () => {
    providers.chat.lists.shutdownDates['gpt-old'] = '2027-01-14';
    const saved = await create({ engine: 'openai-realtime', voice_id: 'voice_1234', model: 'gpt-old' });
    expect(saved.status).toBe(200);
    expect(shown(saved)).toEqual([
      { param: 'voice_id', message: 'The provider has no list to check it. If it is wrong, only a call shows that.' },
      {
        param: 'model',
        message: 'The provider will withdraw it on 2027-01-14. Use another one before that day.',
      },
    ]);
    expect(Object.fromEntries(warnings())).toEqual({
      model: 'the provider will withdraw it on 2027-01-14',
      voice_id: 'the provider has no list of them',
    });
  });

  it('are saved with a warning if the model cannot call tools with the protocol of the service', async () => {
    providers.chat.lists.models.push('gpt-6-astra');
    const why = 'it always reasons, and rejects tools on /chat/completions; use LLM_PROVIDER=openai-responses';
    const saved = await create({ model: 'gpt-6-astra' });
    expect(warnings()).toEqual([['model', why]]);
    expect(shown(saved)).toEqual([
      {
        param: 'model',
        message: 'The model always reasons, so it cannot call tools on this service. Use another one.',
      },
    ]);
  });

  it('are checked for the command lines, too, which print the warning', async () => {
    const { env, tts } = providers;
    const admin = (...options: string[]) =>
      runAdmin(['agents', 'create', customer.account._id, '--name', 'A', '--instruction', 'B', ...options], {
        ...env,
        ENGINE: 'pipeline',
        MONGODB_URI: service.config.mongodbUri,
      });
    const rejected = await admin('--voice-id', 'nowhere');
    expect(rejected).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: voice_id: .* no voice "nowhere"/),
    });
    tts.lists.failsWith = 500;
    const message = 'The provider could not be asked about it (status 500). If it is wrong, only a call shows that.';
    expect((await admin('--voice-id', 'perhaps')).stdout).toMatch(
      new RegExp(`\nwarning: voice_id: ${escaped(message)}\n$`),
    );
    // The customers' command line prints it in the same way.
    const cli = { CALLWRIGHT_URL: service.baseUrl, CALLWRIGHT_API_KEY: customer.liveKey };
    const given = ['agents', 'create', '--name', 'A', '--instruction', 'B', '--voice-id', 'perhaps'];
    const { code, stdout } = await runCli(given, cli);
    expect({ code, lines: stdout.trim().split('\n') }).toEqual({
      code: 0,
      lines: expect.arrayContaining([`warning: voice_id: ${message}`]),
    });
    expect(stdout).not.toContain('warnings');
    expect(JSON.parse((await admin('--voice-id', 'perhaps', '--json')).stdout)).toMatchObject({
      voice_id: 'perhaps',
      warnings: [{ param: 'voice_id', message }],
    });
    tts.lists.failsWith = undefined;
  });
});
