import { ulid } from 'ulid';
import { decideBounded } from '../../src/calls/placing/bounded-decision.js';
import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';

let service: Service;
/** Its calls are never decided: no worker serves its task queue. */
let idle: Service;
beforeAll(async () => {
  service = await startService();
  idle = await startService({ worker: false });
}, 60_000);
afterAll(async () => {
  await service.close();
  await idle.close();
});

const newCallId = () => `call_${ulid()}`;

function bring(to: Service, key: string, { agent }: Customer, CallSid = newSid('CA')) {
  const form = { CallSid, From: '+12025550143', To: '+12025550199', agent_id: agent._id };
  return to.request('/inbound_call', { method: 'POST', key, body: new URLSearchParams(form) });
}

const rows = (of: Service, { account }: Customer) =>
  of.database.callRequests.find({ accountId: account._id }, { _id: 1 }).lean();

describe('an inbound call that is refused', () => {
  it('for want of a place starts no workflow and leaves nothing behind', async () => {
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 1 });
    const first = newSid('CA');
    expect((await bring(service, customer.testKey, customer, first)).status).toBe(200);
    const bindings = await service.database.carrierBindings.countDocuments();
    for (let n = 0; n < 3; n++) {
      const refused = await bring(service, customer.testKey, customer);
      expectError(refused, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
      expect(refused.json).toMatchObject({ limit: 1, current: 1 });
    }
    expect(await rows(service, customer)).toHaveLength(1);
    expect(await service.database.carrierBindings.countDocuments()).toBe(bindings);
    // The call that has the place is no other call when its webhook is repeated.
    expect((await bring(service, customer.testKey, customer, first)).status).toBe(200);
  });

  it('for want of money starts no workflow and leaves nothing behind', async () => {
    const customer = await service.customer(0);
    expectError(await bring(service, customer.liveKey, customer), 402, 'INSUFFICIENT_BALANCE');
    expect(await rows(service, customer)).toEqual([]);
  });
});

it('inbound calls that wait to be decided are as few as outbound ones', async () => {
  const customer = await idle.customer();
  await idle.accounts.setLimits(customer.account._id, { concurrentCalls: 1, requestsPerMinute: 1_000 });
  const answers = await Promise.all(Array.from({ length: 16 }, () => bring(idle, customer.testKey, customer)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) expectError(answer, 429, 'CONCURRENCY_LIMIT_EXCEEDED', /wait to be decided/);
  expect((await rows(idle, customer)).length).toBeLessThanOrEqual(16 - refused.length);
}, 60_000);

it('test calls of many accounts leave room for live calls to be decided', async () => {
  const { config } = idle;
  const customers = await Promise.all(Array.from({ length: 25 }, () => idle.customer(0)));
  const deps = { config, pending: createPendingReservations() };
  let tellDecided = () => {};
  const decided = new Promise<void>((resolve) => (tellDecided = resolve));
  let begun = 0;
  const decide = async () => {
    begun += 1;
    await decided;
  };
  const testCalls = customers.map(({ account }) => decideBounded(deps, { account, mode: 'test' }, newCallId(), decide));
  const outcomes = Promise.allSettled(testCalls);
  expect(begun).toBe(20);
  const live = customers.map(({ account }) => decideBounded(deps, { account, mode: 'live' }, newCallId(), decide));
  expect(begun).toBe(45);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  tellDecided();
  await Promise.all(live);
  const refused = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(5);
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
  await decideBounded(deps, { account: customers[0]!.account, mode: 'test' }, newCallId(), async () => {});
}, 60_000);

it('test calls of one account leave room for those of others to be decided', async () => {
  const [one, other] = [await idle.customer(), await idle.customer()];
  const deps = { config: idle.config, pending: createPendingReservations() };
  let tellDecided = () => {};
  const decided = new Promise<void>((resolve) => (tellDecided = resolve));
  const place = ({ account }: Customer, decide = () => decided) =>
    decideBounded(deps, { account, mode: 'test' }, newCallId(), decide);
  const outcomes = Promise.allSettled(Array.from({ length: 20 }, () => place(one)));
  await place(other, async () => {});
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  tellDecided();
  const refused = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(15);
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: 'CONCURRENCY_LIMIT_EXCEEDED' } });
  // Those that are decided soon let others in that came at the same time.
  const soon = Array.from({ length: 12 }, () => place(one, () => new Promise((resolve) => setTimeout(resolve, 20))));
  await expect(Promise.all(soon)).resolves.toHaveLength(12);
}, 60_000);
