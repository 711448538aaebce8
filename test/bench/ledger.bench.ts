import type { Database } from '../../src/database.js';
import { MAX_MARKERS } from '../../src/billing/ledger/decide.js';
import { createLedger, type Ledger } from '../../src/billing/ledger/ledger.js';
import { newCallId, newLedgerAccountId, openTestDatabase } from '../support/store/test-database.js';
import { createRandom } from '../simulation/random.js';
import { percentile, report } from './figures.js';

/** Prices per second. All calls use one account; each call gets one of these prices at random, with a fixed seed. */
const RATES = [2_500, 833, 40_000];
const HIGHEST_MINUTE = 60 * Math.max(...RATES);
const OPEN_HOLDS = 10_000;
const MEASURED_HOLDS = 3_000;
/** Number of calls that ask for their hold at the same time. */
const AT_ONCE = 32;
const HOLDS_PER_SECOND = 150;

let database: Database;
let ledger: Ledger;

beforeAll(async () => {
  database = await openTestDatabase('ledger_bench');
  ledger = createLedger(database);
});
afterAll(() => database.close());

async function accountWith(micros: number): Promise<string> {
  const id = newLedgerAccountId();
  await ledger.open(id);
  await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: micros });
  return id;
}

const holdFirst = (ledgerAccountId: string, callId: string, microsPerSecond: number) =>
  ledger.hold({ ledgerAccountId, callId, window: 0, maxDurationSeconds: 600, microsPerSecond });

/** Runs `work` `count` times, with `AT_ONCE` runs at a time. */
async function inParallel(count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  const runner = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
}

async function documentOf(id: string): Promise<{ bytes: number; markers: number }> {
  const document = await database.ledgerAccounts.findOne({ _id: id }).lean();
  return {
    bytes: Buffer.byteLength(JSON.stringify(document)),
    markers: Object.keys(document?.markers ?? {}).length,
  };
}

it.each(RATES)(
  'grants exactly 100 of 1,000 concurrent first holds with a balance for 100, at %d micro-USD a second',
  async (rate) => {
    const id = await accountWith(100 * 60 * rate);
    const startedAt = performance.now();
    const callIds = Array.from({ length: 1_000 }, newCallId);
    const ask = async (callId: string): Promise<number> => {
      // Tries again after too many update conflicts, as a worker does.
      for (let attempt = 0; ; attempt++) {
        try {
          return (await holdFirst(id, callId, rate)).grantedSeconds;
        } catch (error) {
          if (!(error instanceof Error && error.name === 'LedgerBusyError') || attempt === 20) throw error;
        }
      }
    };
    const granted = await Promise.all(callIds.map(ask));
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(granted.filter((held) => held === 60)).toHaveLength(100);
    expect(granted.filter((held) => held === 0)).toHaveLength(900);
    expect(await ledger.balance(id)).toMatchObject({ availableMicros: 0, heldMicros: 100 * 60 * rate });
    expect(await ledger.audit(id)).toMatchObject({ balanced: true, operationCount: 1_001 });
    report(`1,000 first holds at once, balance for 100, ${rate} micro-USD a second`, { granted: 100, seconds });
  },
  300_000,
);

it(`grants ${HOLDS_PER_SECOND} holds a second on one account with ${OPEN_HOLDS} open holds`, async () => {
  const id = await accountWith(2 * (OPEN_HOLDS + MEASURED_HOLDS) * HIGHEST_MINUTE);
  const random = createRandom(1);
  let expectedMicros = 0;
  const open = async () => {
    const rate = random.pick(RATES);
    await holdFirst(id, newCallId(), rate);
    expectedMicros += 60 * rate;
  };
  await inParallel(200, open);
  await ledger.sweep(id);
  const few = await documentOf(id);
  const fillingAt = performance.now();
  await inParallel(OPEN_HOLDS - 200, open);
  const fillingSeconds = (performance.now() - fillingAt) / 1_000;

  const latencies: number[] = [];
  const startedAt = performance.now();
  await inParallel(MEASURED_HOLDS, async () => {
    const before = performance.now();
    await open();
    latencies.push(performance.now() - before);
  });
  const perSecond = MEASURED_HOLDS / ((performance.now() - startedAt) / 1_000);
  const busy = await documentOf(id);
  await ledger.sweep(id);
  const many = await documentOf(id);

  report(`one hot account, ${OPEN_HOLDS} holds open`, {
    'holds/s': perSecond,
    'holds/s while filling': (OPEN_HOLDS - 200) / fillingSeconds,
    'p50 ms': percentile(latencies, 50),
    'p99 ms': percentile(latencies, 99),
    'document bytes, 200 holds open, swept': few.bytes,
    'document bytes, all holds open, swept': many.bytes,
    'document bytes between sweeps': busy.bytes,
    'markers between sweeps': busy.markers,
  });
  const { heldMicros } = await ledger.balance(id);
  expect(heldMicros).toBe(expectedMicros);
  // In the account document, two numbers can have a few more digits; nothing else may grow.
  expect(many.bytes).toBeLessThan(few.bytes + 32);
  expect(busy.markers).toBeLessThanOrEqual(MAX_MARKERS);
  expect(await ledger.audit(id)).toMatchObject({
    balanced: true,
    mispriced: 0,
    operationCount: OPEN_HOLDS + MEASURED_HOLDS + 1,
  });
  expect(perSecond).toBeGreaterThanOrEqual(HOLDS_PER_SECOND);
}, 600_000);
