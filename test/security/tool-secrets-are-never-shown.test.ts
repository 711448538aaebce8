import { createAgents } from '../../src/agents/agents.js';
import { createSecretBox } from '../../src/platform/secrets/secret-box.js';
import { openToolHeaders } from '../../src/agents/tool-headers.js';
import {
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const SECRET = 'Bearer s3cret-of-the-customer';
const URL_OF_TOOL = 'https://shop.example.com/orders';

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;

beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
  ask = managementOf(service);
});
afterAll(() => service.close());

const toolAt = (url: string, headers?: unknown, name = 'look_up') => ({
  name,
  description: 'Looks up an order.',
  method: 'GET',
  url,
  parameters: '{"type":"object","properties":{}}',
  ...(headers === undefined ? {} : { headers }),
});
const create = (headers: unknown, url = URL_OF_TOOL) =>
  ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Be kind.', tools: [toolAt(url, headers)] });
const change = (id: string, tools: unknown) => ask.patch(`/agents/${id}`, customer.liveKey, { tools });
const idOf = ({ json }: ServiceResponse) => String(json['agent_id']);

/** Returns the headers that the tool of the stored agent would send. */
async function sentBy(agentId: string): Promise<Record<string, string>> {
  const agent = await createAgents(service.database).find(agentId);
  const [tool] = agent?.tools ?? [];
  if (tool === undefined) throw new Error('The agent has no tool.');
  return openToolHeaders(tool, customer.account._id, createSecretBox(service.config.encryptionKeys));
}

describe('the secret headers of a tool', () => {
  it('are stored encrypted, and only their names are shown', async () => {
    const made = await create({ Authorization: SECRET, 'X-Shop': '7' });
    expect(made.status).toBe(200);
    const responses = [
      made,
      await ask.get(`/agents/${idOf(made)}`, customer.liveKey),
      await ask.get('/agents', customer.liveKey),
      await ask.patch(`/agents/${idOf(made)}`, customer.liveKey, { name: 'B' }),
      await ask.get('/audit_log', customer.liveKey),
    ];
    for (const { text } of responses) {
      expect(text).not.toContain('s3cret');
      expect(text).not.toContain('sealed');
    }
    expect(made.json['tools']).toEqual([{ ...toolAt(URL_OF_TOOL), header_names: ['Authorization', 'X-Shop'] }]);
    expect(await sentBy(idOf(made))).toEqual({ Authorization: SECRET, 'X-Shop': '7' });
    const stored = JSON.stringify(await service.database.connection.collection('agents').find().toArray());
    expect(stored).toContain('"sealed":"development.');
    expect(stored).not.toContain('s3cret');
  });

  it('are also encrypted in the call’s copy of the agent', async () => {
    const id = idOf(await create({ Authorization: SECRET }));
    await service.place(customer.testKey, { to_phone_number: '+12025550100', agent_id: id });
    const requests = JSON.stringify(await service.database.connection.collection('call_requests').find().toArray());
    expect(requests).toContain('"sealed":"development.');
    expect(requests).not.toContain('s3cret');
  });

  it('are kept when a change repeats the tool, even as it was read', async () => {
    const made = await create({ Authorization: SECRET, 'X-Shop': '7' });
    for (const tools of [[toolAt(`${URL_OF_TOOL}/v2`)], made.json['tools'], [toolAt(URL_OF_TOOL, { 'x-shop': '8' })]]) {
      expect((await change(idOf(made), tools)).status).toBe(200);
      expect(await sentBy(idOf(made))).toHaveProperty('Authorization', SECRET);
    }
    expect(await sentBy(idOf(made))).toEqual({ Authorization: SECRET, 'x-shop': '8' });
  });

  it('are removed with null', async () => {
    const id = idOf(await create({ Authorization: SECRET, 'X-Shop': '7' }));
    await change(id, [toolAt(URL_OF_TOOL, { authorization: null })]);
    expect(await sentBy(id)).toEqual({ 'X-Shop': '7' });
    await change(id, [toolAt(URL_OF_TOOL, null)]);
    expect(await sentBy(id)).toEqual({});
  });

  it.each(['https://other.example.com/orders', 'http://shop.example.com/orders', 'https://shop.example.com:8443/'])(
    'are never sent to another origin: %s',
    async (url) => {
      const id = idOf(await create({ Authorization: SECRET }));
      const response = await change(id, [toolAt(url)]);
      expectError(response, 400, 'MISSING_PARAMS');
      expect(response.json['message']).toMatch(/^tools: headers must be given again, or removed with null/);
      expect(response.json['fields']).toHaveProperty(['tools.0.headers']);
      expectError(await change(id, [toolAt(url, { 'X-Other': '1' })]), 400, 'MISSING_PARAMS');
      expect((await change(id, [toolAt(url, undefined, 'renamed')])).json['tools']).toEqual([
        toolAt(url, undefined, 'renamed'),
      ]);
      // Even if somebody changes the URL in the database, the service cannot decrypt the headers for the other URL.
      const other = idOf(await create({ Authorization: SECRET }));
      await service.database.agents.updateOne({ _id: other }, { $set: { 'tools.0.url': url } });
      await expect(sentBy(other)).rejects.toThrow(/authenticate/);
    },
  );

  it.each<[string, unknown]>([
    ['a second Host', { Host: 'internal' }],
    ['a length', { 'Content-Length': '0' }],
    ['a transfer encoding', { 'transfer-encoding': 'chunked' }],
    ['another connection', { Connection: 'x' }],
    ['a proxy password', { 'Proxy-Authorization': 'x' }],
    ['a signature', { 'Webhook-Signature': 'v1,x' }],
    ['a call', { 'X-Callwright-Call-Id': 'call_1' }],
    ['a line break in a value', { 'X-A': 'a\r\nHost: internal' }],
    ['a line feed in a value', { 'X-A': 'a\nb' }],
    ['a line break in a name', { 'X-A\r\nB': 'a' }],
    ['an invalid name', { 'X A': 'a' }],
    ['no value', { 'X-A': '' }],
    ['a value that is too long', { 'X-A': 'a'.repeat(2_049) }],
    ['a value beyond ASCII', { 'X-A': 'ä' }],
    ['a name that is too long', { ['x'.repeat(65)]: 'a' }],
    ['a number', { 'X-A': 1 }],
    ['a list', [{ name: 'X-A', sealed: 'development.x' }]],
    ['one name twice', { 'X-A': 'a', 'x-a': 'b' }],
    ['eleven', Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`X-${index}`, 'a']))],
  ])('are rejected with %s', async (_what, headers) => {
    const response = await create(headers);
    expectError(response, 400, 'MISSING_PARAMS');
    expect(response.json['message']).toMatch(/^tools: /);
  });
});
