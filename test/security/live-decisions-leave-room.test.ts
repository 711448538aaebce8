import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { CallServiceUnavailable } from '../../src/calls/gateway.js';
import { decideWithinLimits } from '../../src/calls/placing/decision-limits.js';
import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';
import type { Direction } from '../../src/kernel/call-state.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const ANSWER_WITHIN_MS = 1_000;

/** A service without a worker. Its calls are never decided. */
let idle: Service;
beforeAll(async () => {
  const env = { ...REAL_CARRIER, ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS) };
  idle = await startService({ worker: false, minDeadlineMs: 0, env });
}, 60_000);
afterAll(() => idle.close(), 60_000);

/** Requests a live call may have in progress at once in each account, with the plan `standard`. */
const PARALLEL = 18;

/**
 * Creates a worker that makes one decision after the other, each in 20 ms. A decision that comes too late is lost, but
 * it still takes the worker's time.
 */
function createWorker() {
  let busyUntil = 0;
  return async () => {
    const now = performance.now();
    busyUntil = Math.max(now, busyUntil) + 20;
    await sleep(Math.min(busyUntil - now, ANSWER_WITHIN_MS));
    if (busyUntil - now > ANSWER_WITHIN_MS) throw new CallServiceUnavailable();
  };
}

function decisions() {
  const deps = { config: idle.config, pending: createPendingReservations() };
  return ({ account }: Customer, decide: () => Promise<void>, direction: Direction = 'outbound') =>
    decideWithinLimits(deps, { account, mode: 'live' }, { _id: `call_${ulid()}`, direction }, decide);
}

it.each([1, 5])(
  'live calls of %i accounts leave room for the decisions about those of another, placed and received',
  async (length) => {
    const customers = await Promise.all(Array.from({ length: length + 1 }, () => idle.customer()));
    const other = customers.pop()!;
    const place = decisions();
    const decide = createWorker();
    let over = false;
    const flood = customers.flatMap((one) =>
      Array.from({ length: PARALLEL }, async () => {
        while (!over) await place(one, decide).catch(() => sleep(20));
      }),
    );
    // The number of decisions at a time adapts to the worker's speed.
    await sleep(2_500);
    const outcomes = [];
    for (const direction of ['outbound', 'inbound'] as const)
      for (let n = 0; n < 8; n++) {
        outcomes.push(await place(other, decide, direction).then(() => 'decided', String));
        await sleep(100);
      }
    over = true;
    await Promise.all(flood);
    expect(outcomes).toEqual(Array.from({ length: 16 }, () => 'decided'));
  },
  60_000,
);

it('a live call that finds no room waits, and then gets 503 before it costs anything', async () => {
  const customers = await Promise.all(Array.from({ length: 25 }, () => idle.customer()));
  const place = decisions();
  let finish = () => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let begun = 0;
  const outcomes = Promise.allSettled(
    customers.map((one) =>
      place(one, () => {
        begun += 1;
        return finished;
      }),
    ),
  );
  await sleep(800);
  expect(begun).toBe(18);
  finish();
  const rejected = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(7);
  for (const outcome of rejected) expect(outcome).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
}, 60_000);

it('a burst of live calls of one account is decided, if decisions are quick', async () => {
  const customer = await idle.customer();
  const place = decisions();
  const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, () => place(customer, () => sleep(50))));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'fulfilled'));
}, 60_000);

it('a live call gets 503 sooner when the service is overloaded', async () => {
  const customers = await Promise.all(Array.from({ length: 19 }, () => idle.customer()));
  const late = customers.pop()!;
  const place = decisions();
  let finish = () => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const slow = Promise.all(customers.map((one) => place(one, () => finished)));
  // Decisions count as slow after half of the time in which a call must be decided.
  await sleep(ANSWER_WITHIN_MS / 2 + 200);
  const first = Promise.race([place(late, () => finished).catch(() => 'rejected'), sleep(400, 'waiting')]);
  expect(await first).toBe('rejected');
  finish();
  await slow;
}, 60_000);

describe('a live call that gets 503 because it was not decided in time', () => {
  const counts = async ({ account }: Customer) => {
    const rows = await idle.database.destinationCounts.find({ _id: new RegExp(`^${account._id}~live~`) }).lean();
    const lines = rows.map(({ _id, count }) => `${_id.split('~')[2]}: ${count}`);
    return lines.sort().join(', ');
  };

  it('is no longer counted in the limits of the day when it was placed', async () => {
    const customer = await idle.customer();
    const { status } = await idle.place(customer.liveKey, { to_phone_number: '+12025550140', instruction: 'Hello.' });
    expect(status).toBe(503);
    await eventually(async () => (await counts(customer)) === 'placed: 0, prompts: 0');
  }, 60_000);

  it('is no longer counted in the limits of the day when it was received', async () => {
    const customer = await idle.customer();
    const form = { CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199' };
    const { text } = await idle.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    expect(text).toContain('<Reject');
    await eventually(async () => (await counts(customer)) === 'prompts: 0, received: 0');
  }, 60_000);
});
