import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/database.js';
import { openDatabase } from '../../../src/database.js';
import { createDialPacing, type DialPacing } from '../../../src/telephony/pacing/dial-pacing.js';
import { createServerClock } from '../../../src/platform/mongo/server-clock.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

const RATE = 10;

interface Dial {
  accountId: string;
  /** The time for which the dial slot was granted; `at` is the time when the call was dialed. */
  slotAt: number;
  at: number;
}

describe('dial slots on the database', () => {
  const databases: Database[] = [];
  /**
   * Instances of dial pacing. Each has its own database connection and its own clock reading, like workers on several
   * machines.
   */
  const workers: DialPacing[] = [];
  let now: () => Promise<number>;

  beforeAll(async () => {
    const first = await openTestDatabase('dial_pacing');
    databases.push(first);
    for (let i = 0; i < 3; i++) {
      databases.push(await openDatabase(`${process.env.TEST_MONGODB_URI}/${first.connection.name}`, { poolSize: 4 }));
    }
    for (const database of databases) workers.push(createDialPacing(database));
    now = createServerClock(first);
  });
  afterAll(async () => {
    for (const database of databases.reverse()) await database.close();
  });

  /** Asks a worker, chosen at random each time, until it grants a slot, and waits until the slot begins. */
  async function dial(carrierAccountId: string, accountId: string): Promise<Dial> {
    const carrier = { carrierAccountId, callsPerSecond: RATE };
    const call = { callId: newCallId(), accountId };
    for (;;) {
      const pacing = workers[Math.floor(Math.random() * workers.length)] as DialPacing;
      const answer = await pacing.requestSlot(carrier, call);
      if (!answer.granted) {
        await sleep(answer.retryAt - answer.now);
        continue;
      }
      const { slotAt } = answer;
      if (await pacing.waitForSlot(carrier, slotAt, 3_000)) return { accountId, slotAt, at: await now() };
    }
  }

  function mostWithin(ms: number, times: readonly number[]): number {
    return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
  }

  /** Repeats a measurement, which a busy machine spoils, at most three times until it is good enough. */
  async function untilGood<T>(measure: () => Promise<T>, isGood: (measured: T) => boolean): Promise<T> {
    let measured = await measure();
    for (let tries = 1; tries < 3 && !isGood(measured); tries += 1) measured = await measure();
    return measured;
  }

  it("are granted within the carrier's rate, even if many workers ask for many accounts at once", async () => {
    async function spanOfDials(): Promise<number> {
      const carrierAccountId = `AC${randomUUID()}`;
      const dials = await Promise.all(
        ['A', 'B', 'C'].flatMap((accountId) => Array.from({ length: 15 }, () => dial(carrierAccountId, accountId))),
      );
      expect(dials).toHaveLength(45);
      const slots = dials.map(({ slotAt }) => slotAt);
      const times = dials.map(({ at }) => at);
      expect(mostWithin(1_000, slots)).toBeLessThanOrEqual(RATE);
      // Each of the four workers reads the clock separately, and the machine may be busy. So each time can be off by some
      // ten ms. If a slot were granted twice, the count would be twice as high.
      expect(mostWithin(750, times)).toBeLessThanOrEqual(RATE);
      return Math.max(...times) - Math.min(...times);
    }
    // 45 slots of 105 ms take 4.6 s. If the dials take five times as long, slots are wasted.
    expect(await untilGood(spanOfDials, (span) => span < 23_000)).toBeLessThan(23_000);
  }, 120_000);

  it('go to a single call of one account before a crowd of another', async () => {
    async function laterOfCrowd(): Promise<number> {
      const carrierAccountId = `AC${randomUUID()}`;
      const crowd = Array.from({ length: 40 }, () => dial(carrierAccountId, 'crowd'));
      await sleep(700);
      const one = await dial(carrierAccountId, 'one');
      const others = await Promise.all(crowd);
      return others.filter(({ at }) => at > one.at).length;
    }
    // At 10 calls per second, only about 12 calls of the crowd may go first: those of the 0.7 s before the single call
    // asked, and those of the next 0.5 s, whose slots were already assigned. Without fairness, all 40 would go first.
    expect(await untilGood(laterOfCrowd, (later) => later >= 15)).toBeGreaterThanOrEqual(15);
  }, 120_000);

  it('expire when a worker dies: the next call does not wait for them', async () => {
    const carrier = { carrierAccountId: `AC${randomUUID()}`, callsPerSecond: 1 };
    const [first, second] = workers as [DialPacing, DialPacing];
    expect(await first.requestSlot(carrier, { callId: newCallId(), accountId: 'A' })).toMatchObject({ granted: true });
    expect(await first.requestSlot(carrier, { callId: newCallId(), accountId: 'A' })).toMatchObject({ granted: false });
    await sleep(3_000);
    expect(await second.requestSlot(carrier, { callId: newCallId(), accountId: 'B' })).toMatchObject({ granted: true });
  });

  it('move to the next free time when they are missed, unless that is too late', async () => {
    const carrier = { carrierAccountId: `AC${randomUUID()}`, callsPerSecond: 1 };
    const [pacing] = workers as [DialPacing];
    const granted = await pacing.requestSlot(carrier, { callId: newCallId(), accountId: 'A' });
    const slotAt = granted.granted ? granted.slotAt : 0;
    expect(await pacing.waitForSlot(carrier, slotAt - 5_000, 0)).toBe(false);
    expect(await pacing.waitForSlot(carrier, slotAt - 5_000, 10_000)).toBe(true);
    expect((await now()) - slotAt).toBeGreaterThanOrEqual(1_000);
  });

  it('reject invalid call ids, because ids become field names', async () => {
    const [pacing] = workers as [DialPacing];
    const ask = async () =>
      pacing.requestSlot({ carrierAccountId: 'AC1', callsPerSecond: 1 }, { callId: '$where', accountId: 'A' });
    await expect(ask()).rejects.toThrow(RangeError);
  });
});
