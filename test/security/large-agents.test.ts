import { createAgents } from '../../src/agents/agents.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

/** The maximum size of a stored agent, in bytes of UTF-8. */
const MOST_BYTES = 262_144;

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
});
beforeEach(async () => {
  customer = await service.customer();
});
afterAll(() => service.close());

const toolWith = (index: number, headers: Record<string, string>, description = 'Looks up an order.') => ({
  name: `tool_${index}`,
  description,
  method: 'GET',
  url: `https://shop.example.com/${'u'.repeat(1_900)}`,
  parameters: JSON.stringify({ type: 'object', properties: {}, description: 'p'.repeat(3_500) }),
  headers,
});
const toolsWith = (headers: Record<string, string>) =>
  Array.from({ length: 16 }, (_, index) => toolWith(index, headers));
const headersFrom = (first: number) =>
  Object.fromEntries([0, 1].map((n) => [`X-Secret-${first + n}`, 's'.repeat(2_000)]));
const sizeOfStored = async (agentId: string) => Buffer.byteLength(JSON.stringify(await service.agents.find(agentId)));

describe('an agent', () => {
  it('never grows beyond 256 KiB through the headers that its tools keep', async () => {
    const { json } = await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Be kind.' });
    const path = `/agents/${String(json['agent_id'])}`;
    let rejection;
    for (let first = 0; first < 10 && rejection === undefined; first += 2) {
      const response = await ask.patch(path, customer.liveKey, { tools: toolsWith(headersFrom(first)) });
      if (response.status !== 200) rejection = response;
    }
    expect(await sizeOfStored(String(json['agent_id']))).toBeLessThanOrEqual(MOST_BYTES);
    expectError(
      rejection as NonNullable<typeof rejection>,
      400,
      'MISSING_PARAMS',
      /^tools: .*at most 262144 bytes.*null/,
    );
    expect((await ask.get(path, customer.liveKey)).status).toBe(200);
  });

  it('that is already larger can be read, renamed and made smaller, but not larger', async () => {
    const { json } = await ask.post('/agents', customer.liveKey, { name: 'Large', instruction: 'Be kind.' });
    const path = `/agents/${String(json['agent_id'])}`;
    const tools = toolsWith({}).map(({ headers: _none, ...tool }) => ({
      ...tool,
      headers: Array.from({ length: 6 }, (_, n) => ({ name: `X-${n}`, sealed: 's'.repeat(2_800) })),
    }));
    await service.database.agents.updateOne({ _id: String(json['agent_id']) }, { $set: { tools } });
    expect((await ask.get(path, customer.liveKey)).status).toBe(200);
    expect((await ask.patch(path, customer.liveKey, { name: 'L' })).status).toBe(200);
    expectError(await ask.patch(path, customer.liveKey, { tools: toolsWith(headersFrom(20)) }), 400, 'MISSING_PARAMS');
    const smaller = [toolWith(0, {})];
    expect((await ask.patch(path, customer.liveKey, { tools: smaller })).status).toBe(200);
  });
});

it('a page of agents reads no header values and ends before it is large', async () => {
  const { _id: accountId } = customer.account;
  const at = Date.now();
  const agents = Array.from({ length: 12 }, (_, n) => ({
    ...customer.agent,
    _id: `agent_${accountId}_${n}`,
    name: `Large ${n}`,
    tools: toolsWith({}).map((tool) => ({ ...tool, headers: [{ name: 'X-Secret', sealed: 's'.repeat(2_800) }] })),
    createdAt: new Date(at + n),
  }));
  await service.database.agents.insertMany(agents);
  const page = await service.agents.page({ accountId, mode: 'live', archived: false, limit: 100 });
  expect(JSON.stringify(page).includes('sealed')).toBe(false);
  expect(JSON.stringify(page).length).toBeLessThan(900_000);
  expect(page.items[0]?.tools?.[0]?.headers).toEqual([{ name: 'X-Secret' }]);
  const names = [];
  for (let path: string | undefined = '/agents?limit=100'; path !== undefined;) {
    const { json } = await ask.get(path, customer.liveKey);
    const { data, next_cursor: next } = json as { data: { name: string }[]; next_cursor?: string };
    names.push(...data.map(({ name }) => name));
    path = next === undefined ? undefined : `/agents?limit=100&cursor=${encodeURIComponent(next)}`;
  }
  expect(names).toHaveLength(13);
  expect(new Set(names).size).toBe(13);
});

it('an unverified account has 20 agents at most', async () => {
  const { _id: accountId } = await service.accounts.create({ name: 'Unverified', unverified: true });
  const agents = createAgents(service.database);
  const create = (name: string) =>
    agents.create({ accountId, name, instruction: 'Be kind.', voice: 'amber', language: 'en-US' });
  for (let n = 0; n < 20; n++) await create(`Agent ${n}`);
  await expect(create('One more')).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/e-mail address/),
  });
});
