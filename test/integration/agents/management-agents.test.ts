import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
let other: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  api = managementOf(service);
  [customer, other] = await Promise.all([service.customer(0), service.customer(0)]);
});
afterAll(() => service.close());

const FIELDS = {
  name: 'Front desk',
  instruction: 'Greet the caller <script>alert(1)</script>.',
  voice: 'amber',
  language: 'en-US',
  engine: 'offline-demo',
  ai_disclosure: false,
  voicemail_action: 'leave_message',
  voicemail_message: 'Please call back.',
  transfer_numbers: ['+12025550142'],
  tools: [
    {
      name: 'find_slot',
      description: 'Finds a free slot.',
      method: 'GET',
      url: 'https://example.com/slots',
      parameters: '{"type":"object","properties":{}}',
    },
  ],
  output_parameters: '{"confirmed":null}',
  max_duration_seconds: 120,
  ring_timeout_seconds: 20,
  webhook_url: 'https://example.com/hook',
};

const newAgent = async (fields: object = {}, of = customer) => {
  const answer = await api.post('/agents', of.liveKey, { name: 'A', instruction: 'Be kind.', ...fields });
  expect(answer.status).toBe(200);
  return String(answer.json['agent_id']);
};

describe('an agent', () => {
  it('is created with every field and read back unchanged', async () => {
    const created = await api.post('/agents', customer.liveKey, FIELDS);
    expect(created.json).toEqual({
      agent_id: expect.stringMatching(/^agent_[0-9A-HJKMNP-TV-Z]{26}$/),
      ...FIELDS,
      mode: 'live',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `/agents/${String(created.json['agent_id'])}`;
    expect((await api.get(path, customer.liveKey)).json).toEqual(created.json);
    expect((await api.get(path, customer.testKey)).json).toEqual(created.json);
  });

  it('has the service’s voice, language and time limits by default', async () => {
    const { json } = await api.post('/agents', customer.liveKey, { name: 'A', instruction: 'Be kind.', voice: null });
    expect(json).toMatchObject({
      voice: 'amber',
      language: 'en-US',
      max_duration_seconds: 600,
      ring_timeout_seconds: 30,
    });
    expect(json).not.toHaveProperty('webhook_url');
  });

  it('is changed field by field, and null removes an optional field', async () => {
    const path = `/agents/${await newAgent(FIELDS)}`;
    const changed = await api.patch(path, customer.liveKey, { name: 'Desk 2', webhook_url: null });
    expect(changed.status).toBe(200);
    const { webhook_url: _gone, ...rest } = FIELDS;
    expect(changed.json).toMatchObject({ ...rest, name: 'Desk 2' });
    expect(changed.json).not.toHaveProperty('webhook_url');
  });

  it('keeps a list of one choice that was stored before two were required', async () => {
    const agentId = await newAgent({ ...FIELDS, output_parameters: '{"day":"Monday|Friday","note":"none"}' });
    const output_parameters = '{"day":"Monday|"}';
    await service.database.agents.updateOne({ _id: agentId }, { $set: { outputParameters: output_parameters } });
    const changed = await api.patch(`/agents/${agentId}`, customer.liveKey, { name: 'Desk 2', output_parameters });
    expect(changed.json).toMatchObject({ name: 'Desk 2', output_parameters });
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 7 }],
    ['name', { name: 'a'.repeat(101) }],
    ['name', { name: 'a\u0000b' }],
    ['instruction', { instruction: ' ' }],
    ['instruction', { instruction: 'a'.repeat(32_769) }],
    ['voice', { voice: { $gt: '' } }],
    ['language', { language: 'english please' }],
    ['output_parameters', { output_parameters: { a: 1 } }],
    ['output_parameters', { output_parameters: '{"a":[]}' }],
    ['output_parameters', { output_parameters: '{"day":"Monday|"}' }],
    ['output_parameters', { output_parameters: '{"day":" | "}' }],
    ['max_duration_seconds', { max_duration_seconds: 29 }],
    ['max_duration_seconds', { max_duration_seconds: 1e9 }],
    ['max_duration_seconds', { max_duration_seconds: 60.5 }],
    ['ring_timeout_seconds', { ring_timeout_seconds: '30' }],
    ['phone_number', { phone_number: '12' }],
  ])('is rejected with a bad %s: 400, and the message and fields name it', async (field, fields) => {
    const body = { name: 'A', instruction: 'Be kind.', ...fields };
    const before = await service.database.agents.countDocuments();
    for (const answer of [
      await api.post('/agents', customer.liveKey, body),
      await api.patch(`/agents/${customer.agent._id}`, customer.liveKey, fields),
    ]) {
      expectError(answer, 400, 'MISSING_PARAMS', new RegExp(field));
      expect(answer.json['fields']).toEqual({ [field]: expect.stringMatching(new RegExp(`^${field} `)) });
    }
    expect(await service.database.agents.countDocuments()).toBe(before);
  });

  it.each([
    ['name', 'Find slot', /^name must have 1 to 64 lowercase letters/],
    ['name', 'end_call', /^name must not be a reserved one/],
    ['name', 'answering_machine', /^name must not be a reserved one/],
    ['description', '', /^description must not be empty/],
    ['url', 'ftp://example.com', /^url must be an http/],
    ['url', 'https://user:word@example.com', /^url must not contain a user name/],
    ['parameters', '{"type":"array"}', /^parameters must be a JSON Schema of type object/],
  ])('is rejected with a bad %s of a tool, and fields give its position', async (field, value, sentence) => {
    const [tool] = FIELDS.tools;
    const tools = [tool, { ...tool, name: 'second', [field]: value }];
    for (const answer of [
      await api.post('/agents', customer.liveKey, { name: 'A', instruction: 'Be kind.', tools }),
      await api.patch(`/agents/${customer.agent._id}`, customer.liveKey, { tools }),
    ]) {
      expectError(answer, 400, 'MISSING_PARAMS', /^tools/);
      expect(answer.json['fields']).toEqual({
        tools: expect.stringMatching(/^tools/),
        [`tools.1.${field}`]: expect.stringMatching(sentence),
      });
    }
  });

  it('is rejected with a bad webhook_url, another’s phone number or unknown fields', async () => {
    const post = (fields: object) => api.post('/agents', customer.liveKey, { name: 'A', instruction: 'B', ...fields });
    expectError(await post({ webhook_url: 'ftp://example.com' }), 400, 'MISSING_PARAMS', /webhook_url/);
    expectError(await post({ phone_number: '+12025550177' }), 400, 'MISSING_PARAMS', /phone_number/);
    for (const name of ['accountId', 'account_id', '_id', 'agent_id', 'created_at', 'archivedAt', '$where', 'a.b']) {
      expectError(await post({ [name]: 'x' }), 400, 'MISSING_PARAMS', /unknown field/);
    }
    expectError(await api.patch(`/agents/${customer.agent._id}`, customer.liveKey, {}), 400, 'MISSING_PARAMS');
    const answer = await service.request('/agents', {
      method: 'POST',
      key: customer.liveKey,
      headers: { 'Content-Type': 'application/json' },
      body: '{"name":"A","instruction":"B","__proto__":{"x":1}}',
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it('is not found, changed or archived by another account', async () => {
    const path = `/agents/${other.agent._id}`;
    const answers = [
      await api.get(path, customer.liveKey),
      await api.patch(path, customer.liveKey, { name: 'Mine' }),
      await api.delete(path, customer.liveKey),
      await api.get('/agents/agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', customer.liveKey),
      await api.get('/agents/%00', customer.liveKey),
    ];
    for (const answer of answers) expectError(answer, 404, 'AGENT_NOT_FOUND');
    expect(new Set(answers.map(({ json }) => json['message'])).size).toBe(1);
    expect(await service.database.agents.findById(other.agent._id).lean()).toMatchObject({ name: 'Reminders' });
  });

  it('can be read after it is archived, but not changed, listed by default or used', async () => {
    const id = await newAgent();
    const archived = await api.delete(`/agents/${id}`, customer.liveKey);
    expect(archived.json).toMatchObject({ agent_id: id, archived_at: expect.any(String) });
    expect((await api.delete(`/agents/${id}`, customer.liveKey)).json).toEqual(archived.json);
    expect((await api.get(`/agents/${id}`, customer.liveKey)).json).toEqual(archived.json);
    expectError(await api.patch(`/agents/${id}`, customer.liveKey, { name: 'B' }), 404, 'AGENT_NOT_FOUND');
    const body = { to_phone_number: '+12025550100', agent_id: id };
    expectError(await service.place(customer.testKey, body), 404, 'AGENT_NOT_FOUND');
    const ids = async (query: string) =>
      listOf(await api.get(`/agents?limit=100${query}`, customer.liveKey)).data.map((agent) => agent['agent_id']);
    expect(await ids('')).not.toContain(id);
    expect(await ids('&archived=true')).toContain(id);
  });

  it('cannot be archived while it takes inbound calls', async () => {
    const id = await newAgent();
    await api.patch('/account', customer.liveKey, { inbound_agent_id: id });
    expectError(await api.delete(`/agents/${id}`, customer.liveKey), 409, 'CONFLICT');
    await api.patch('/account', customer.liveKey, { inbound_agent_id: null });
    expect((await api.delete(`/agents/${id}`, customer.liveKey)).status).toBe(200);
  });
});

describe('the list of agents', () => {
  it('is paged, newest first, with each agent once', async () => {
    const owner = await service.customer(0);
    const created = [owner.agent._id];
    for (let count = 0; count < 6; count++) created.unshift(await newAgent({}, owner));
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page = listOf(await api.get(`/agents?limit=3${cursor}`, owner.liveKey));
      seen.push(...page.data.map((agent) => agent['agent_id']));
      expect(page.has_more).toBe(page.next_cursor !== undefined);
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(created);
  });

  it.each(['limit=0', 'limit=x', 'cursor=abc', 'archived=yes', 'nonsense=1', 'limit=1&limit=2', 'mode=other'])(
    'rejects ?%s with 400',
    async (query) => {
      expectError(await api.get(`/agents?${query}`, customer.liveKey), 400, 'MISSING_PARAMS');
    },
  );

  it('rejects a cursor of another account’s list', async () => {
    await newAgent();
    const { next_cursor: cursor } = listOf(await api.get('/agents?limit=1', customer.liveKey));
    expectError(await api.get(`/agents?cursor=${String(cursor)}`, other.liveKey), 400, 'MISSING_PARAMS');
  });

  it('accepts only the mode of the key', async () => {
    expect((await api.get('/agents?mode=live', customer.liveKey)).status).toBe(200);
    expectError(await api.get('/agents?mode=test', customer.liveKey), 403, 'FORBIDDEN', /mode/);
  });
});
