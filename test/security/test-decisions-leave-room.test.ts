import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { decideWithinLimits } from '../../src/calls/placing/decision-limits.js';
import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';

let idle: Service;
beforeAll(async () => {
  idle = await startService({ worker: false, minDeadlineMs: 0, env: { ANSWER_WITHIN_MS: '1000' } });
}, 60_000);
afterAll(() => idle.close(), 60_000);

const newCall = () => ({ _id: `call_${ulid()}`, direction: 'outbound' as const });

function decisions() {
  const deps = { config: idle.config, pending: createPendingReservations() };
  return {
    place: <T>({ account }: Pick<Customer, 'account'>, mode: 'test' | 'live', decide: () => Promise<T>) =>
      decideWithinLimits(deps, { account, mode }, newCall(), decide),
  };
}

it.each([5, 12])(
  'test calls of %i accounts leave room for the decisions about those of another',
  async (length) => {
    const customers = await Promise.all(Array.from({ length: length + 1 }, () => idle.customer(0)));
    const other = customers.pop()!;
    const { place } = decisions();
    let over = false;
    // Each account places as many calls as it may, again and again.
    const greedy = customers.flatMap((one) =>
      Array.from({ length: 8 }, async () => {
        while (!over) await place(one, 'test', () => sleep(100)).catch(() => sleep(20));
      }),
    );
    await sleep(500);
    const placed = [];
    for (let n = 0; n < 10; n++) placed.push(await place(other, 'test', () => sleep(10)).then(() => 'placed', String));
    over = true;
    await Promise.all(greedy);
    expect(placed).toEqual(Array.from({ length: 10 }, () => 'placed'));
  },
  60_000,
);

it('test calls are decided one at a time while decisions are slow, and more at a time when they are fast again', async () => {
  const customers = await Promise.all(Array.from({ length: 8 }, () => idle.customer(0)));
  const { place } = decisions();
  let deciding = 0;
  let most = 0;
  const ask = (takesMs: number) => async () => {
    most = Math.max(most, ++deciding);
    await sleep(takesMs);
    deciding -= 1;
  };
  const round = async (takesMs: number) => {
    most = 0;
    await Promise.allSettled(customers.map((one) => place(one, 'test', ask(takesMs))));
    return most;
  };
  const slow = [];
  for (let n = 0; n < 6; n++) slow.push(await round(600));
  expect(slow[0]).toBe(8);
  expect(slow.at(-1)).toBe(1);
  // A live call is decided at once, although test calls wait for their decision.
  let decided = false;
  await Promise.all([
    round(600),
    place(customers[0]!, 'live', async () => {
      decided = true;
    }),
    sleep(20).then(() => expect(decided).toBe(true)),
  ]);
  const quick = [];
  for (let n = 0; n < 12; n++) quick.push(await round(10));
  expect(Math.max(...quick)).toBe(8);
}, 60_000);
