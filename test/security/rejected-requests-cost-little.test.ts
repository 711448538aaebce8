import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';

/** A simulated callee that rings until the call is ended. */
const NEVER_ANSWERS = '+12025550102';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  customer = await service.customer();
});
afterAll(() => service.close());

const order = (more: object = {}) => ({ to_phone_number: NEVER_ANSWERS, agent_id: customer.agent._id, ...more });
const place = () => service.place(customer.testKey, order());
const rows = () => service.database.callRequests.find({ accountId: customer.account._id }).lean();

describe('a rejected request', () => {
  it('without a concurrency slot starts no workflow and stores nothing', async () => {
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 1 });
    expect((await place()).status).toBe(200);
    for (let n = 0; n < 5; n++) {
      const rejection = await place();
      expectError(rejection, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
      expect(rejection.json).toMatchObject({ limit: 1, current: 1 });
    }
    expect(await rows()).toHaveLength(1);
  });

  it('without a balance starts no workflow and stores nothing', async () => {
    customer = await service.customer(0);
    for (let n = 0; n < 3; n++) {
      const key = n === 2 ? { 'Idempotency-Key': 'poor' } : {};
      expectError(await service.place(customer.liveKey, order(), key), 402, 'INSUFFICIENT_BALANCE');
    }
    expect(await rows()).toEqual([]);
  });

  it('keeps no number and no instruction if only the reservation failed', async () => {
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 1 });
    const responses = await Promise.all(Array.from({ length: 6 }, place));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    await eventually(async () => (await rows()).filter(({ toPhoneNumber }) => toPhoneNumber !== '').length === 1);
  });
});

it('simultaneous requests that wait for a decision start few more workflows than the account may have calls', async () => {
  // No worker serves this task queue, so none of its calls is decided, and each request waits until its deadline.
  const idle = await startService({ worker: false, minDeadlineMs: 4_000 });
  try {
    const { account, testKey } = await idle.customer();
    await idle.accounts.setLimits(account._id, { concurrentCalls: 1, requestsPerMinute: 1_000 });
    const body = { to_phone_number: NEVER_ANSWERS, instruction: 'Hello.' };
    const repeated = { 'Idempotency-Key': 'the same call' };
    const requests = Array.from({ length: 24 }, () => idle.place(testKey, body));
    const responses = await Promise.all(requests);
    const rejection = responses.filter(({ status }) => status === 429);
    expect(rejection.length).toBeGreaterThan(0);
    for (const response of rejection)
      expectError(response, 429, 'CONCURRENCY_LIMIT_EXCEEDED', /are still being processed/);
    expect(await idle.countCallRequests()).toBeLessThanOrEqual(24 - rejection.length);
    // A repeated request means the same call, and calls that have been decided no longer count as waiting.
    const repeats = await Promise.all(Array.from({ length: 20 }, () => idle.place(testKey, body, repeated)));
    expect(new Set(repeats.map(({ status }) => status))).toEqual(new Set([503]));
  } finally {
    await idle.close();
  }
}, 60_000);

it('the API keys of an account share a limit of requests', async () => {
  const limit = 3;
  await service.accounts.setLimits(customer.account._id, { requestsPerMinute: limit });
  const keys = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { _id: accountId } = customer.account;
      return (await service.apiKeys.create({ accountId, mode: 'test', name: 'One of many' })).secret;
    }),
  );
  const requests = keys.flatMap((key) => Array.from({ length: limit }, () => service.request('/account', { key })));
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(5 * limit);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3 * limit);
});

it('a page of large agents ends before it is large', async () => {
  const text = 'x'.repeat(32_000);
  for (let n = 0; n < 60; n++) {
    const { _id: accountId } = customer.account;
    await service.agents.create({
      accountId,
      name: `Large ${n}`,
      instruction: text,
      voice: 'amber',
      language: 'en-US',
    });
  }
  const names: string[] = [];
  let path = '/agents?limit=100';
  for (let pages = 0; pages < 20; pages++) {
    const { json, text: body } = await service.request(path, { key: customer.liveKey });
    expect(body.length).toBeLessThan(256_000);
    const { data, next_cursor: next } = json as { data: { name: string }[]; next_cursor?: string };
    names.push(...data.map(({ name }) => name));
    if (next === undefined) break;
    path = `/agents?limit=100&cursor=${encodeURIComponent(next)}`;
  }
  expect(names.filter((name) => name.startsWith('Large '))).toHaveLength(60);
  expect(new Set(names).size).toBe(names.length);
});

it('an account cannot fill its list of API keys by creating and revoking them', async () => {
  const { _id: accountId } = customer.account;
  const filler = Array.from({ length: 500 }, (_, n) => ({
    _id: `${accountId} ${n}`,
    keyId: `key_${accountId}_${n}`,
    accountId,
    mode: 'test' as const,
    name: 'Old',
    prefix: 'sk_test_',
    lastFour: '0000',
    createdAt: new Date(Date.now() - n),
    revokedAt: new Date(),
  }));
  await service.database.apiKeys.insertMany(filler);
  const response = await service.request('/api_keys', {
    method: 'POST',
    key: customer.testKey,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'One more' }),
  });
  // The service deletes revoked keys to make room for the new key.
  expect(response.status).toBe(200);
  expect(await service.database.apiKeys.countDocuments({ accountId, mode: 'test' })).toBe(500);
});
