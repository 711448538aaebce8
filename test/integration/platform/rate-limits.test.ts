import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Database } from '../../../src/database.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { createLeasedLimiter } from '../../../src/platform/http/rate-limits/leased-limiter.js';
import { createLimitStore } from '../../../src/platform/http/rate-limits/limit-store.js';
import { openTestDatabase } from '../../support/store/test-database.js';

jest.setTimeout(120_000);

const PROCESSES = 3;

let databases: Database[];

beforeAll(async () => {
  const first = await openTestDatabase('limits');
  const uri = `${process.env.TEST_MONGODB_URI}/${first.connection.name}`;
  databases = [first, await openDatabase(uri), await openDatabase(uri)];
  await createIndexes(first);
});
afterAll(async () => {
  await databases[0]?.connection.dropDatabase();
  for (const database of databases) await database.close();
});

/** Limiters with one connection each, as in separate processes. */
const limiters = (seconds: number) =>
  databases.map((database) =>
    createLeasedLimiter({
      store: createLimitStore(database, seconds),
      fallback: () => Promise.reject(new Error('The store must be available in this test.')),
    }),
  );

describe('a rate limit over three processes', () => {
  it.each([
    ['evenly', 600, [1, 1, 1]],
    ['unevenly', 600, [10, 3, 1]],
    ['by one process after the others stopped', 1_200, [1, 0, 0]],
    ['evenly, with a low limit', 30, [1, 1, 1]],
  ])('is used up by at least 95 %% and never exceeded: %s', async (name, limit, weights) => {
    for (let round = 0; round < 3; round++) {
      const key = `${name} ${round}`;
      const processes = limiters(60);
      let admitted = 0;
      let sent = 0;
      /** Requests that had been sent when the first one was rejected. */
      let sentAtRejection: number | undefined;
      const admittedNumbers: number[] = [];
      const send = async (process: number) => {
        const number = ++sent;
        const { allowed, remaining, msBeforeNext } = await processes[process]!.consume(key, limit);
        expect(remaining).toBeLessThan(limit);
        expect(msBeforeNext).toBeLessThanOrEqual(60_000);
        if (allowed) {
          admitted += 1;
          admittedNumbers.push(number);
        } else sentAtRejection ??= sent;
      };
      // Every process takes leases first, and does not use all of them.
      for (let process = 0; process < PROCESSES; process++) {
        for (let n = 0; n < limit / 10 + Math.random() * 10; n++) await send(process);
      }
      const client = async () => {
        while (sentAtRejection === undefined) {
          await send(pick(weights));
          if (Math.random() < 0.05) await sleep(Math.random() * 5);
        }
      };
      await Promise.all(Array.from({ length: 6 }, client));
      const used = admittedNumbers.filter((number) => number <= sentAtRejection!).length;
      expect(used).toBeGreaterThanOrEqual(limit * 0.95);
      for (let process = 0; process < PROCESSES; process++) for (let n = 0; n < limit / 10; n++) await send(process);
      expect(admitted).toBeLessThanOrEqual(limit);
      const stored = await databases[0]!.rateLimits.findOne({ key }).lean<{ holders: number }>();
      expect(stored).toMatchObject({ holders: PROCESSES });
    }
  });

  it('begins a new window in every process when the last one ends', async () => {
    const processes = limiters(2);
    const perWindow = new Map<number, number>();
    const until = Date.now() + 7_000;
    const client = async (process: number) => {
      while (Date.now() < until) {
        const { allowed, msBeforeNext } = await processes[process]!.consume('windows', 100);
        const window = Math.round((Date.now() + msBeforeNext) / 200);
        if (allowed) perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
        await sleep(allowed ? 1 : 10);
      }
    };
    await Promise.all([0, 1, 2].map(client));
    const counts = [...perWindow.values()];
    expect(counts.length).toBeGreaterThanOrEqual(3);
    for (const count of counts) expect(count).toBeLessThanOrEqual(100);
    for (const count of counts.slice(0, -1)) expect(count).toBeGreaterThanOrEqual(95);
  });
});

function pick(weights: readonly number[]): number {
  let rest = Math.random() * weights.reduce((sum, weight) => sum + weight, 0);
  return Math.max(
    0,
    weights.findIndex((weight) => (rest -= weight) < 0),
  );
}
