import { createIdempotencyKeys } from '../../src/calls/placing/idempotency-keys.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const place = (idempotencyKey: string) =>
  service.place(
    customer.liveKey,
    { to_phone_number: '+12025550100', agent_id: customer.agent._id },
    { 'Idempotency-Key': idempotencyKey },
  );

describe('a request whose rejection is certain before its call is started', () => {
  // Another request with the same key may be granted meanwhile. If this one replaced the call of the key, a repeat would place a
  // second call; if it stored its 402, a repeat would not find the call.
  it('changes no row of its key', async () => {
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 0 });
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: customer.account._id, mode: 'live' as const, key: 'full' };
    expectError(await place('full'), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
    expect(await keys.find(owner)).toBeNull();
    const { row } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_1' });
    const rejected = { status: 402, body: { error_code: 'INSUFFICIENT_BALANCE' } };
    expect(await keys.claim(owner, { bodyHash: 'h', callId: 'call_2' }, rejected)).toEqual({ row, created: false });
  });

  it('stores a 402 with the row of its key', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: customer.account._id, mode: 'live' as const, key: 'poor' };
    const rejected = { status: 402, body: { error_code: 'INSUFFICIENT_BALANCE' } };
    const { row, created } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_3' }, rejected);
    expect(created).toBe(true);
    expect(row).toMatchObject({ answerStatus: 402, answerBody: JSON.stringify(rejected.body) });
    // The row has expired: its answer is replaced as well.
    await service.database.idempotencyKeys.updateOne({ _id: row._id }, { expiresAt: new Date(0) });
    const other = { status: 402, body: {} };
    await expect(keys.claim(owner, { bodyHash: 'h', callId: 'call_4' }, other)).resolves.toMatchObject({
      created: true,
    });
    expect(await keys.find(owner)).toMatchObject({ callId: 'call_4', answerBody: '{}' });
    await service.database.idempotencyKeys.updateOne({ _id: row._id }, { expiresAt: new Date(0) });
    await keys.claim(owner, { bodyHash: 'h', callId: 'call_5' });
    expect((await keys.find(owner))?.answerStatus).toBeUndefined();
  });
});

describe('a key', () => {
  const DAY_MS = 24 * 60 * 60_000;

  it('is kept for 24 hours after its response, and while a call is being placed for it', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: customer.account._id, mode: 'live' as const, key: 'slow' };
    const { row } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_6' });
    const almostOver = async () =>
      service.database.idempotencyKeys.updateOne({ _id: row._id }, { expiresAt: new Date(Date.now() + 1_000) });
    const leftMs = async () => Number((await keys.find(owner))?.expiresAt) - Date.now();
    await almostOver();
    expect((await keys.claim(owner, { bodyHash: 'h', callId: 'call_7' })).created).toBe(false);
    expect(await leftMs()).toBeGreaterThan(DAY_MS - 60_000);
    await almostOver();
    expect(await keys.assignNewCall(row, 'call_8')).toBe('call_8');
    expect(await leftMs()).toBeGreaterThan(DAY_MS - 60_000);
    await almostOver();
    const renewed = { ...row, callId: 'call_8' };
    expect(await keys.storeResponse(renewed, { status: 200, body: {} })).toBe('stored');
    expect(await leftMs()).toBeGreaterThan(DAY_MS - 60_000);
    // A repeat of an answered request does not keep the key.
    await almostOver();
    await keys.claim(owner, { bodyHash: 'h', callId: 'call_9' });
    expect(await leftMs()).toBeLessThan(60_000);
  });
});
