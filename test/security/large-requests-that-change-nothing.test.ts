import { randomBytes } from 'node:crypto';
import { encodeCrockford } from '../../src/kernel/ids.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

/** An agent of this size takes about 33 ms to check. */
const TOOLS = 13;

let service: Service;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
});
afterAll(() => service.close());

const properties = Object.fromEntries(Array.from({ length: 180 }, (_, index) => [`p${index}`, { type: 'string' }]));
const parameters = JSON.stringify({ type: 'object', properties });
const tools = Array.from({ length: TOOLS }, (_, index) => ({
  name: `tool_${index}`,
  description: 'Looks up an order.',
  method: 'GET',
  url: 'https://shop.example.com/',
  parameters,
}));

async function withLargeAgent(): Promise<{ customer: Customer; path: string }> {
  const customer = await service.customer();
  const { json } = await ask.post('/agents', customer.testKey, { name: 'Large', instruction: 'Be kind.', tools });
  return { customer, path: `/agents/${String(json['agent_id'])}` };
}

/** Repeats a request until it is rejected, at most 100 times. Returns how often it was not, and the rejection. */
async function untilRejected(send: () => ReturnType<typeof ask.patch>) {
  for (let count = 0; count < 100; count += 1) {
    const response = await send();
    if (response.status === 429) return { count, response };
  }
  throw new Error('no request was rejected');
}

it.each([
  ['a change to what is stored', { tools }],
  ['an invalid change', { tools: [...tools.slice(1), { ...tools[0], method: 'TRACE' }] }],
  ['a small change to what is stored', { name: 'Large' }],
])(
  '%s is rejected after about forty of a minute, without delay for other accounts',
  async (_, body) => {
    const { customer, path } = await withLargeAgent();
    const other = await withLargeAgent();
    const { count, response } = await untilRejected(() => ask.patch(path, customer.testKey, body));
    expect(count).toBeGreaterThan(20);
    expect(count).toBeLessThan(60);
    expectError(response, 429, 'RATE_LIMIT_EXCEEDED', /changed nothing/);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    // Reads, the other mode and other accounts are not affected.
    expect((await ask.get(path, customer.testKey)).status).toBe(200);
    const live = { name: 'Live', instruction: 'Be kind.' };
    expect((await ask.post('/agents', customer.liveKey, live)).status).toBe(200);
    expect((await ask.patch(other.path, other.customer.testKey, { tools })).status).toBe(200);
  },
  60_000,
);

it('a small change to an agent whose headers, which are not shown, are large is rejected after a few of a minute', async () => {
  const customer = await service.customer();
  const headers = (tool: number) =>
    Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`X-Key-${tool}-${n}`, 'k'.repeat(1_000)]));
  const withHeaders = Array.from({ length: 10 }, (_, n) => ({
    ...tools[0],
    parameters: '{"type":"object","properties":{}}',
    name: `t_${n}`,
    headers: headers(n),
  }));
  const body = { name: 'Hidden', instruction: 'Be kind.', tools: withHeaders };
  const made = await ask.post('/agents', customer.testKey, body);
  expect(made.status).toBe(200);
  const path = `/agents/${String(made.json['agent_id'])}`;
  const { count } = await untilRejected(() => ask.patch(path, customer.testKey, { name: 'Hidden' }));
  expect(count).toBeLessThan(40);
}, 60_000);

it('small requests that change nothing, and large ones that change something, are not limited by this', async () => {
  const { customer, path } = await withLargeAgent();
  const small = { name: 'Small', instruction: 'Be kind.' };
  const { json } = await ask.post('/agents', customer.testKey, small);
  for (let count = 0; count < 100; count += 1) {
    expect((await ask.patch(`/agents/${String(json['agent_id'])}`, customer.testKey, small)).status).toBe(200);
  }
  for (let count = 0; count < 45; count += 1) {
    const changed = [{ ...tools[0], description: `Number ${count}.` }, ...tools.slice(1)];
    expect((await ask.patch(path, customer.testKey, { tools: changed })).status).toBe(200);
  }
}, 60_000);

it('many at the same time are limited as well, and do not prevent calls and revocations', async () => {
  const { customer, path } = await withLargeAgent();
  const other = await ask.post('/api_keys', customer.testKey, { name: 'Other' });
  const statuses = await Promise.all(
    Array.from({ length: 80 }, async () => (await ask.patch(path, customer.testKey, { tools })).status),
  );
  expect(statuses.filter((status) => status === 200).length).toBeLessThan(60);
  const call = await service.place(customer.testKey, { to_phone_number: '+12025550111', agent_id: path.split('/')[2] });
  expect(call.status).not.toBe(429);
  expect((await ask.delete(`/api_keys/${String(other.json['key_id'])}`, customer.testKey)).status).toBe(200);
}, 60_000);

it('large requests that only read the status of a call are rejected after a few', async () => {
  const customer = await service.customer();
  const padding = { padding: 'x'.repeat(200_000) };
  const callId = `call_${encodeCrockford(randomBytes(16))}`;
  await service.database.calls.create({
    _id: callId,
    sequence: 1,
    accountId: customer.account._id,
    mode: 'test',
    direction: 'outbound',
    status: 'RINGING',
    fromPhoneNumber: '+12025550100',
    toPhoneNumber: '+12025550111',
    agentId: customer.agent._id,
    inputParameters: '{}',
    externalCallId: '',
    createdAt: new Date(),
    updatedAt: new Date(),
  });
  expect((await service.place(customer.testKey, { call_id: callId, ...padding })).status).toBe(200);
  const status = await untilRejected(() => service.place(customer.testKey, { call_id: callId, ...padding }));
  expect(status.count).toBeLessThan(12);
  expectError(status.response, 429, 'RATE_LIMIT_EXCEEDED', /changed nothing/);
  // Small requests still read the status.
  expect((await service.place(customer.testKey, { call_id: callId })).status).toBe(200);
}, 60_000);

it('many changes at the same time are rejected beyond the limit only, and do not count against the next', async () => {
  const { customer, path } = await withLargeAgent();
  const change = (count: number) => [{ ...tools[0], description: `Number ${count}.` }, ...tools.slice(1)];
  const statuses = await Promise.all(
    Array.from(
      { length: 60 },
      async (_, count) => (await ask.patch(path, customer.testKey, { tools: change(count) })).status,
    ),
  );
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20);
  expect((await ask.patch(path, customer.testKey, { tools: change(60) })).status).toBe(200);
}, 60_000);

it('many keys of an account share a limit of twice as many', async () => {
  const { customer, path } = await withLargeAgent();
  const accountId = customer.account._id;
  let accepted = 0;
  for (let count = 0; count < 4; count += 1) {
    const { secret } = await service.apiKeys.create({ accountId, mode: 'test', name: `Key ${count}` });
    accepted += (await untilRejected(() => ask.patch(path, secret, { tools }))).count;
  }
  expect(accepted).toBeGreaterThan(40);
  expect(accepted).toBeLessThan(120);
}, 120_000);
