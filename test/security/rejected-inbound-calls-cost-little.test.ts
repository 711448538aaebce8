import { ulid } from 'ulid';
import { decideWithinLimits } from '../../src/calls/placing/decision-limits.js';
import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';

let service: Service;
/** A service whose task queue has no worker. Its calls are never decided. */
let idle: Service;
beforeAll(async () => {
  service = await startService();
  idle = await startService({ worker: false });
}, 60_000);
afterAll(async () => {
  await service.close();
  await idle.close();
});

const newCall = () => ({ _id: `call_${ulid()}`, direction: 'inbound' as const });

function forwardCall(to: Service, key: string, { agent }: Customer, CallSid = newSid('CA')) {
  const form = { CallSid, From: '+12025550143', To: '+12025550199', agent_id: agent._id };
  return to.request('/inbound_call', { method: 'POST', key, body: new URLSearchParams(form) });
}

const rows = (of: Service, { account }: Customer) =>
  of.database.callRequests.find({ accountId: account._id }, { _id: 1 }).lean();

describe('a rejected inbound call', () => {
  it('without a concurrency slot starts no workflow and stores nothing', async () => {
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 1 });
    const first = newSid('CA');
    expect((await forwardCall(service, customer.testKey, customer, first)).status).toBe(200);
    const bindings = await service.database.carrierBindings.countDocuments();
    for (let n = 0; n < 3; n++) {
      const rejected = await forwardCall(service, customer.testKey, customer);
      expectError(rejected, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
      expect(rejected.json).toMatchObject({ limit: 1, current: 1 });
    }
    expect(await rows(service, customer)).toHaveLength(1);
    expect(await service.database.carrierBindings.countDocuments()).toBe(bindings);
    // A repeated request for the first call means the same call, so it is not rejected.
    expect((await forwardCall(service, customer.testKey, customer, first)).status).toBe(200);
  });

  it('without a balance starts no workflow and stores nothing', async () => {
    const customer = await service.customer(0);
    expectError(await forwardCall(service, customer.liveKey, customer), 402, 'INSUFFICIENT_BALANCE');
    expect(await rows(service, customer)).toEqual([]);
  });
});

it('as few inbound calls may wait for a decision as outbound calls', async () => {
  const customer = await idle.customer();
  await idle.accounts.setLimits(customer.account._id, { concurrentCalls: 1, requestsPerMinute: 1_000 });
  const responses = await Promise.all(Array.from({ length: 16 }, () => forwardCall(idle, customer.testKey, customer)));
  const rejected = responses.filter(({ status }) => status === 429);
  expect(rejected.length).toBeGreaterThan(0);
  for (const response of rejected)
    expectError(response, 429, 'CONCURRENCY_LIMIT_EXCEEDED', /are still being processed/);
  expect((await rows(idle, customer)).length).toBeLessThanOrEqual(16 - rejected.length);
}, 60_000);

it('test calls of many accounts leave room for the decisions about live calls', async () => {
  const { config } = idle;
  const customers = await Promise.all(Array.from({ length: 25 }, () => idle.customer(0)));
  const deps = { config, pending: createPendingReservations() };
  let finishDecisions = () => {};
  const decided = new Promise<void>((resolve) => (finishDecisions = resolve));
  let begun = 0;
  const decide = async () => {
    begun += 1;
    await decided;
  };
  const testCalls = customers.map(({ account }) =>
    decideWithinLimits(deps, { account, mode: 'test' }, newCall(), decide),
  );
  const outcomes = Promise.allSettled(testCalls);
  expect(begun).toBe(20);
  const live = customers
    .slice(0, 10)
    .map(({ account }) => decideWithinLimits(deps, { account, mode: 'live' }, newCall(), decide));
  expect(begun).toBe(30);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  finishDecisions();
  await Promise.all(live);
  const rejected = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(5);
  for (const outcome of rejected) expect(outcome).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
  await decideWithinLimits(deps, { account: customers[0]!.account, mode: 'test' }, newCall(), async () => {});
}, 60_000);

it('test calls of one account leave room for the decisions about calls of others', async () => {
  const [one, other] = [await idle.customer(), await idle.customer()];
  const deps = { config: idle.config, pending: createPendingReservations() };
  let finishDecisions = () => {};
  const decided = new Promise<void>((resolve) => (finishDecisions = resolve));
  const place = ({ account }: Customer, decide = () => decided) =>
    decideWithinLimits(deps, { account, mode: 'test' }, newCall(), decide);
  const outcomes = Promise.allSettled(Array.from({ length: 20 }, () => place(one)));
  await place(other, async () => {});
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  finishDecisions();
  const rejected = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(15);
  for (const outcome of rejected) expect(outcome).toMatchObject({ reason: { code: 'CONCURRENCY_LIMIT_EXCEEDED' } });
  // When the waiting calls are decided soon, other calls that arrived at the same time are accepted.
  const soon = Array.from({ length: 12 }, () => place(one, () => new Promise((resolve) => setTimeout(resolve, 20))));
  await expect(Promise.all(soon)).resolves.toHaveLength(12);
}, 60_000);
