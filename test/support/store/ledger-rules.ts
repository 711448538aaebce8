import { HOLD_WINDOW_SECONDS } from '../../../src/kernel/hold-windows.js';
import { LedgerBusyError, type HoldResult, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { newCallId, newLedgerAccountId } from './test-database.js';

const FOUR_HOURS = 14_400;

/**
 * Tests that a ledger must pass on every storage.
 * @param SECOND the price of a second, in micro-USD
 */
export function describeLedger(getLedger: () => Ledger, SECOND = 2_500): void {
  async function accountWith(seconds: number): Promise<string> {
    const id = newLedgerAccountId();
    await getLedger().open(id);
    if (seconds > 0) await credit(id, seconds * SECOND);
    return id;
  }
  const credit = (ledgerAccountId: string, amountMicros: number, paymentId = 'p1') =>
    getLedger().topUp({ ledgerAccountId, paymentId, amountMicros });
  const hold = (ledgerAccountId: string, callId: string, window: number, maxDurationSeconds = FOUR_HOURS) =>
    getLedger().hold({ ledgerAccountId, callId, window, maxDurationSeconds, microsPerSecond: SECOND });
  const settle = (ledgerAccountId: string, callId: string, billedSeconds: number) =>
    getLedger().settle({ ledgerAccountId, callId, billedSeconds });

  async function holdAll(id: string, callId: string, maxDurationSeconds = FOUR_HOURS): Promise<HoldResult[]> {
    const answers: HoldResult[] = [];
    for (let window = 0; window < HOLD_WINDOW_SECONDS.length; window++) {
      const answer = await hold(id, callId, window, maxDurationSeconds);
      answers.push(answer);
      if (answer.last) break;
    }
    return answers;
  }

  async function expectBalance(id: string, seconds: { available: number; held: number; billed: number }) {
    expect(await getLedger().balance(id)).toMatchObject({
      availableMicros: seconds.available * SECOND,
      heldMicros: seconds.held * SECOND,
      billedMicros: seconds.billed * SECOND,
    });
    expect(await getLedger().audit(id)).toMatchObject({ balanced: true });
  }

  describe('hold windows', () => {
    it.each([
      ['59 s: rejected, because a first window is granted completely or not at all', 59, [[0, 0, true]]],
      [
        '60 s: the first window only',
        60,
        [
          [60, 60, false],
          [0, 60, true],
        ],
      ],
      [
        '61 s: one more second',
        61,
        [
          [60, 60, false],
          [1, 61, true],
        ],
      ],
      [
        '100 s: the rest of 40 s as the last window',
        100,
        [
          [60, 60, false],
          [40, 100, true],
        ],
      ],
      [
        '1,234 s: three windows and the rest of 274 s',
        1_234,
        [
          [60, 60, false],
          [180, 240, false],
          [720, 960, false],
          [274, 1_234, true],
        ],
      ],
      [
        'four hours and more: five windows',
        20_000,
        [
          [60, 60, false],
          [180, 240, false],
          [720, 960, false],
          [2_880, 3_840, false],
          [10_560, 14_400, true],
        ],
      ],
    ])('are granted with a balance for %s', async (_name, seconds, expected) => {
      const id = await accountWith(seconds);
      const answers = await holdAll(id, newCallId());
      expect(answers.map((a) => [a.grantedSeconds, a.heldSeconds, a.last])).toEqual(expected);
      const held = answers.at(-1)?.heldSeconds ?? 0;
      await expectBalance(id, { available: seconds - held, held, billed: 0 });
    });

    it('never include a part of a second', async () => {
      const id = await accountWith(0);
      await credit(id, 60 * SECOND + 3 * SECOND - 1);
      const answers = await holdAll(id, newCallId());
      expect(answers.map((a) => a.grantedSeconds)).toEqual([60, 2]);
    });

    it('are shortened to the maximum duration, except the first', async () => {
      const id = await accountWith(10_000);
      const ten = await holdAll(id, newCallId(), 600);
      expect(ten.map((a) => [a.grantedSeconds, a.last])).toEqual([
        [60, false],
        [180, false],
        [360, true],
      ]);
      const thirty = await holdAll(id, newCallId(), 30);
      expect(thirty.map((a) => [a.grantedSeconds, a.heldSeconds, a.last])).toEqual([
        [60, 60, false],
        [0, 60, true],
      ]);
    });

    it('get the same answer on every repeat, even after the balance has changed', async () => {
      const id = await accountWith(100);
      const callId = newCallId();
      const first = await holdAll(id, callId);
      await credit(id, 1_000 * SECOND, 'p2');
      expect(await holdAll(id, callId)).toEqual(first);
      const refused = newCallId();
      const poor = await accountWith(59);
      expect(await hold(poor, refused, 0)).toMatchObject({ grantedSeconds: 0 });
      await credit(poor, 1_000 * SECOND, 'p2');
      expect(await hold(poor, refused, 0)).toMatchObject({ grantedSeconds: 0 });
    });

    it('must be requested again later if the previous window is undecided', async () => {
      const id = await accountWith(1_000);
      await expect(hold(id, newCallId(), 1)).rejects.toBeInstanceOf(LedgerBusyError);
      await expectBalance(id, { available: 1_000, held: 0, billed: 0 });
    });

    it('can have other sizes', async () => {
      const id = await accountWith(100);
      const callId = newCallId();
      const p = { ledgerAccountId: id, callId, maxDurationSeconds: 600, microsPerSecond: SECOND, windows: [2, 5] };
      expect(await getLedger().hold({ ...p, window: 0 })).toEqual({ grantedSeconds: 2, heldSeconds: 2, last: false });
      expect(await getLedger().hold({ ...p, window: 1 })).toEqual({ grantedSeconds: 5, heldSeconds: 7, last: true });
      expect(await settle(id, callId, 6)).toMatchObject({ billedSeconds: 6 });
      await expectBalance(id, { available: 94, held: 0, billed: 6 });
    });

    it('are rejected for invalid numbers and ids', async () => {
      const id = await accountWith(100);
      await expect(hold(id, newCallId(), 0.5)).rejects.toThrow(RangeError);
      await expect(hold(id, newCallId(), 5)).rejects.toThrow(RangeError);
      await expect(hold(id, 'call_$ne', 0)).rejects.toThrow(RangeError);
      await expect(settle(id, newCallId(), 1.5)).rejects.toThrow(RangeError);
      await expect(settle(id, newCallId(), -1)).rejects.toThrow(RangeError);
    });
  });

  describe('the settlement of a call', () => {
    it('bills to the second and releases the rest', async () => {
      const id = await accountWith(1_000);
      const callId = newCallId();
      await holdAll(id, callId, 600);
      expect(await settle(id, callId, 73)).toEqual({
        billedSeconds: 73,
        billedMicros: 73 * SECOND,
        heldMicros: 600 * SECOND,
      });
      await expectBalance(id, { available: 927, held: 0, billed: 73 });
    });

    it.each([101, 1_000_000_000_000])('bills at most what is held (%d s requested)', async (asked) => {
      const id = await accountWith(100);
      const callId = newCallId();
      await holdAll(id, callId);
      expect(await settle(id, callId, asked)).toMatchObject({ billedSeconds: 100 });
      await expectBalance(id, { available: 0, held: 0, billed: 100 });
    });

    it('is final, even if a later one asks for something else', async () => {
      const id = await accountWith(100);
      const callId = newCallId();
      await hold(id, callId, 0);
      const first = await settle(id, callId, 10);
      expect(await settle(id, callId, 50)).toEqual(first);
      expect(await Promise.all(Array.from({ length: 10 }, () => settle(id, callId, 10)))).toEqual(
        Array(10).fill(first),
      );
      await expectBalance(id, { available: 90, held: 0, billed: 10 });
    });

    it('releases everything if it bills nothing', async () => {
      const id = await accountWith(100);
      const callId = newCallId();
      await holdAll(id, callId);
      expect(await settle(id, callId, 0)).toEqual({ billedSeconds: 0, billedMicros: 0, heldMicros: 100 * SECOND });
      await expectBalance(id, { available: 100, held: 0, billed: 0 });
    });

    it('blocks later holds, of the first window or an extension', async () => {
      const id = await accountWith(1_000);
      const never = newCallId();
      await settle(id, never, 0);
      expect(await hold(id, never, 0)).toMatchObject({ grantedSeconds: 0 });
      const started = newCallId();
      await hold(id, started, 0);
      await settle(id, started, 10);
      expect(await hold(id, started, 1)).toMatchObject({ grantedSeconds: 0, heldSeconds: 60, last: true });
      await expectBalance(id, { available: 990, held: 0, billed: 10 });
    });

    it('leaves no hold behind when an extension races with it', async () => {
      const id = await accountWith(100_000);
      const calls = Array.from({ length: 20 }, newCallId);
      await Promise.all(calls.map((callId) => hold(id, callId, 0)));
      await Promise.all(
        calls.flatMap((callId, i) =>
          i % 2 ? [hold(id, callId, 1), settle(id, callId, 7)] : [settle(id, callId, 7), hold(id, callId, 1)],
        ),
      );
      await expectBalance(id, { available: 100_000 - 140, held: 0, billed: 140 });
    });

    it('is possible only in the account of the call', async () => {
      const [owner, stranger] = [await accountWith(100), await accountWith(100)];
      const callId = newCallId();
      await hold(owner, callId, 0);
      await expect(settle(stranger, callId, 10)).rejects.toThrow(/does not belong to ledger account/);
      await expectBalance(stranger, { available: 100, held: 0, billed: 0 });
    });
  });

  describe('top-ups', () => {
    it('credit a payment once when it is reported 20 times at once', async () => {
      const id = await accountWith(0);
      await Promise.all(Array.from({ length: 20 }, () => credit(id, 1_000_000, 'pi_1')));
      expect(await getLedger().balance(id)).toMatchObject({ availableMicros: 1_000_000, creditedMicros: 1_000_000 });
    });

    it('are rejected for a known payment with another amount', async () => {
      const id = await accountWith(0);
      await credit(id, 1_000_000, 'pi_1');
      await expect(credit(id, 2_000_000, 'pi_1')).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    });

    it.each([0, -1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1])('are rejected for %d micro-USD', async (amount) => {
      const id = await accountWith(0);
      await expect(credit(id, amount)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    });

    it.each(['', 'a.b', '$x', 'a~b', 'x'.repeat(129)])('are rejected for the payment id "%s"', async (paymentId) => {
      const id = await accountWith(0);
      await expect(credit(id, 1, paymentId)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    });

    it('stay exact across 2^31 and up to 1e15 micro-USD, and are rejected beyond exact numbers', async () => {
      const id = await accountWith(0);
      await credit(id, 2 ** 31 - 1, 'a');
      await credit(id, 1, 'b');
      await credit(id, 1e15, 'c');
      expect(await getLedger().balance(id)).toMatchObject({ availableMicros: 2 ** 31 + 1e15 });
      const callId = newCallId();
      await hold(id, callId, 0);
      await settle(id, callId, 1);
      expect(await getLedger().balance(id)).toMatchObject({ availableMicros: 2 ** 31 + 1e15 - SECOND });
      await expect(credit(id, Number.MAX_SAFE_INTEGER, 'd')).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      expect(await getLedger().audit(id)).toMatchObject({ balanced: true });
    });
  });

  describe('the sweep of old markers', () => {
    it('changes no answer and no amount', async () => {
      const id = await accountWith(1_000);
      const callId = newCallId();
      const held = await hold(id, callId, 0);
      await getLedger().sweep(id);
      expect(await hold(id, callId, 0)).toEqual(held);
      expect(await hold(id, callId, 1)).toMatchObject({ grantedSeconds: 180, heldSeconds: 240 });
      await getLedger().sweep(id);
      await settle(id, callId, 100);
      await getLedger().sweep(id);
      expect(await settle(id, callId, 0)).toMatchObject({ billedSeconds: 100 });
      await credit(id, 1_000 * SECOND);
      await expectBalance(id, { available: 900, held: 0, billed: 100 });
    });

    it('can run between concurrent operations, and audits stay exact', async () => {
      const id = await accountWith(6_000);
      const calls = Array.from({ length: 40 }, newCallId);
      const work = calls.map(async (callId, i) => {
        await hold(id, callId, 0);
        await settle(id, callId, i);
      });
      const disturb = (async () => {
        for (let round = 0; round < 10; round++) {
          await getLedger().sweep(id);
          expect(await getLedger().audit(id)).toMatchObject({ balanced: true });
        }
      })();
      await Promise.all([...work, disturb]);
      await expectBalance(id, { available: 6_000 - 780, held: 0, billed: 780 });
    });
  });
}
