import { createLedgerOn, type Ledger } from '../../../src/billing/ledger/ledger.js';
import type { LedgerStorage } from '../../../src/billing/ledger/storage.js';
import { newCallId, newLedgerAccountId } from './test-database.js';

const DAY = 86_400_000;
const MIDNIGHT = Date.UTC(2027, 0, 31);

/**
 * Tests of corrections, freezes, the daily limit and invalid input. A ledger must pass them on every storage.
 * @param SECOND the price of a second, in micro-USD
 */
export function describeLedgerControls(getStorage: () => LedgerStorage, SECOND = 2_500): void {
  let now = MIDNIGHT;
  let ledger: Ledger;
  beforeEach(() => {
    now = MIDNIGHT;
    ledger = createLedgerOn(getStorage(), { now: () => now });
  });

  async function accountWith(seconds: number): Promise<string> {
    const id = newLedgerAccountId();
    await ledger.open(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: seconds * SECOND });
    return id;
  }
  async function settledCall(id: string, billedSeconds: number): Promise<string> {
    const callId = newCallId();
    await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: SECOND });
    await ledger.settle({ ledgerAccountId: id, callId, billedSeconds });
    return callId;
  }
  const correct = (ledgerAccountId: string, callId: string, number: number, seconds: number, reason = 'too long') =>
    ledger.correct({ ledgerAccountId, callId, number, amountMicros: seconds * SECOND, reason });
  const expectUnmoved = async (id: string, before: unknown) => {
    expect(await ledger.balance(id)).toEqual(before);
    expect(await ledger.audit(id)).toMatchObject({ balanced: true });
  };

  describe('corrections', () => {
    it('return money once for repeated requests, and the audit includes them', async () => {
      const id = await accountWith(100);
      const callId = await settledCall(id, 30);
      await Promise.all(Array.from({ length: 5 }, () => correct(id, callId, 1, 10)));
      await ledger.sweep(id);
      await correct(id, callId, 1, 10, 'told otherwise');
      await correct(id, callId, 2, 20);
      expect(await ledger.balance(id)).toEqual({
        availableMicros: 100 * SECOND,
        heldMicros: 0,
        creditedMicros: 100 * SECOND,
        billedMicros: 0,
      });
      expect(await ledger.audit(id)).toMatchObject({ balanced: true, operationCount: 6 });
    });

    it('are rejected for a changed amount, a skipped number, an unsettled call and more than the bill', async () => {
      const id = await accountWith(100);
      const callId = await settledCall(id, 30);
      await correct(id, callId, 1, 10);
      const before = await ledger.balance(id);
      await expect(correct(id, callId, 1, 11)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await expect(correct(id, callId, 3, 1)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      await expect(correct(id, callId, 2, 21)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      await expect(correct(id, newCallId(), 1, 1)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      await expectUnmoved(id, before);
    });

    it('keep the reference of the first request with the same number', async () => {
      const id = await accountWith(100);
      const callId = await settledCall(id, 30);
      const correction = { ledgerAccountId: id, callId, number: 1, amountMicros: SECOND, reason: 'x' };
      const both = await Promise.allSettled(
        ['a', 'b'].map((reference) => ledger.correct({ ...correction, reference })),
      );
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const before = await ledger.balance(id);
      await expect(ledger.correct(correction)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await expectUnmoved(id, before);
    });

    it.each([0, -1, 0.5, Number.NaN, Infinity, 2 ** 53])('are rejected for %d micro-USD', async (amountMicros) => {
      const id = await accountWith(100);
      const callId = await settledCall(id, 30);
      const before = await ledger.balance(id);
      const correction = { ledgerAccountId: id, callId, number: 1, amountMicros, reason: 'x' };
      await expect(ledger.correct(correction)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      await expectUnmoved(id, before);
    });

    it.each([0, -1, 1.5, Number.NaN])('are rejected for the number %d', async (number) => {
      const id = await accountWith(100);
      await expect(correct(id, await settledCall(id, 30), number, 1)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    });

    it.each(['', '  ', 'x'.repeat(301)])('are rejected for the reason "%s"', async (reason) => {
      const id = await accountWith(100);
      await expect(correct(id, await settledCall(id, 30), 1, 1, reason)).rejects.toMatchObject({
        code: 'MISSING_PARAMS',
      });
    });
  });

  describe('a freeze', () => {
    it('rejects first holds, but running calls continue, are extended and are billed', async () => {
      const id = await accountWith(1_000);
      const running = { ledgerAccountId: id, callId: newCallId(), maxDurationSeconds: 600, microsPerSecond: SECOND };
      await ledger.hold({ ...running, window: 0 });
      await ledger.freeze(id, 'the audit fails');
      await ledger.freeze(id, 'another reason');
      expect(await ledger.frozen(id)).toMatchObject({ reason: 'the audit fails', at: expect.any(Date) });
      const started = {
        ledgerAccountId: id,
        callId: newCallId(),
        maxDurationSeconds: 600,
        microsPerSecond: SECOND,
        window: 0,
      };
      const refused = { grantedSeconds: 0, last: true, refusal: 'ACCOUNT_FROZEN' };
      expect(await ledger.hold(started)).toMatchObject(refused);
      expect(await ledger.hold({ ...running, window: 1 })).toMatchObject({ grantedSeconds: 180 });
      expect(await ledger.settle({ ...running, billedSeconds: 100 })).toMatchObject({ billedSeconds: 100 });
      await ledger.unfreeze(id);
      expect(await ledger.frozen(id)).toBeNull();
      expect(await ledger.hold(started)).toMatchObject(refused);
      expect(await ledger.hold({ ...started, callId: newCallId() })).toMatchObject({ grantedSeconds: 60 });
      expect(await ledger.audit(id)).toMatchObject({ balanced: true });
    });

    it('requires an account and a reason', async () => {
      await expect(ledger.freeze(newLedgerAccountId(), 'x')).rejects.toThrow(/ledger account .* does not exist/);
      await expect(ledger.freeze(await accountWith(1), ' ')).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    });
  });

  describe('the daily limit', () => {
    const hold = (id: string, callId: string, window: number, capSeconds: number, maxDurationSeconds = 600) =>
      ledger.hold({
        ledgerAccountId: id,
        callId,
        window,
        maxDurationSeconds,
        microsPerSecond: SECOND,
        dailySpendCapMicros: capSeconds * SECOND,
      });

    it('counts held and billed money, and releases what was held but not billed', async () => {
      const id = await accountWith(10_000);
      const [one, other] = [newCallId(), newCallId()];
      expect(await hold(id, one, 0, 100)).toMatchObject({ grantedSeconds: 60 });
      const refused = { grantedSeconds: 0, refusal: 'SPEND_LIMIT_EXCEEDED' };
      expect(await hold(id, other, 0, 100)).toMatchObject(refused);
      await ledger.settle({ ledgerAccountId: id, callId: one, billedSeconds: 40 });
      expect(await hold(id, other, 0, 100)).toMatchObject(refused);
      const third = newCallId();
      expect(await hold(id, third, 0, 100)).toMatchObject({ grantedSeconds: 60 });
      expect(await hold(id, newCallId(), 0, 100)).toMatchObject(refused);
      expect(await ledger.audit(id)).toMatchObject({ balanced: true });
    });

    it('grants exactly as many of 40 concurrent calls as it covers', async () => {
      const id = await accountWith(10_000);
      const answers = await Promise.all(Array.from({ length: 40 }, () => hold(id, newCallId(), 0, 7 * 60 + 59)));
      expect(answers.filter(({ grantedSeconds }) => grantedSeconds === 60)).toHaveLength(7);
      expect(answers.filter(({ refusal }) => refusal === 'SPEND_LIMIT_EXCEEDED')).toHaveLength(33);
    });

    it('shortens an extension like a low balance, rejects the next one, and reports which applied', async () => {
      const id = await accountWith(10_000);
      const callId = newCallId();
      await hold(id, callId, 0, 100);
      expect(await hold(id, callId, 1, 100)).toEqual({
        grantedSeconds: 40,
        heldSeconds: 100,
        last: true,
        refusal: 'SPEND_LIMIT_EXCEEDED',
      });
      const poor = await accountWith(99);
      const short = newCallId();
      await hold(poor, short, 0, 100);
      expect(await hold(poor, short, 1, 100)).toEqual({
        grantedSeconds: 39,
        heldSeconds: 99,
        last: true,
        refusal: 'INSUFFICIENT_BALANCE',
      });
      const full = newCallId();
      const next = await accountWith(10_000);
      await hold(next, full, 0, 60);
      expect(await hold(next, full, 1, 60)).toEqual({
        grantedSeconds: 0,
        heldSeconds: 60,
        last: true,
        refusal: 'SPEND_LIMIT_EXCEEDED',
      });
    });

    it('starts again at midnight UTC; earlier holds count for the day before', async () => {
      const id = await accountWith(10_000);
      now = MIDNIGHT + DAY - 1;
      const late = newCallId();
      await hold(id, late, 0, 60);
      expect(await hold(id, newCallId(), 0, 60)).toMatchObject({ refusal: 'SPEND_LIMIT_EXCEEDED' });
      now = MIDNIGHT + DAY;
      expect(await hold(id, newCallId(), 0, 60)).toMatchObject({ grantedSeconds: 60 });
      // The settlement releases a hold of yesterday. So it does not change the spending of today.
      await ledger.settle({ ledgerAccountId: id, callId: late, billedSeconds: 1 });
      expect(await hold(id, newCallId(), 0, 60)).toMatchObject({ refusal: 'SPEND_LIMIT_EXCEEDED' });
      expect(await ledger.audit(id)).toMatchObject({ balanced: true });
      await ledger.sweep(id);
      expect(await ledger.audit(id)).toMatchObject({ balanced: true });
    });

    it('never returns to a past day, even if a clock is late', async () => {
      const id = await accountWith(10_000);
      now = MIDNIGHT + DAY;
      await hold(id, newCallId(), 0, 60);
      now = MIDNIGHT;
      expect(await hold(id, newCallId(), 0, 60)).toMatchObject({ refusal: 'SPEND_LIMIT_EXCEEDED' });
    });

    it('is reported before the balance if both are too small', async () => {
      const id = await accountWith(59);
      expect(await hold(id, newCallId(), 0, 59)).toMatchObject({ refusal: 'SPEND_LIMIT_EXCEEDED' });
      expect(await hold(id, newCallId(), 0, 60)).toMatchObject({ refusal: 'INSUFFICIENT_BALANCE' });
    });

    it.each([-1, 0.5, Number.NaN, 2 ** 53])('cannot be %d', async (dailySpendCapMicros) => {
      const id = await accountWith(100);
      const request = {
        ledgerAccountId: id,
        callId: newCallId(),
        window: 0,
        maxDurationSeconds: 60,
        microsPerSecond: SECOND,
      };
      const before = await ledger.balance(id);
      await expect(ledger.hold({ ...request, dailySpendCapMicros })).rejects.toThrow(RangeError);
      await expectUnmoved(id, before);
    });
  });

  describe('invalid input', () => {
    it.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53])('of %d seconds or windows changes nothing', async (bad) => {
      const id = await accountWith(1_000);
      const callId = newCallId();
      const request = { ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: SECOND };
      await ledger.hold(request);
      const before = await ledger.balance(id);
      await expect(ledger.hold({ ...request, window: bad })).rejects.toThrow(RangeError);
      await expect(ledger.hold({ ...request, maxDurationSeconds: bad })).rejects.toThrow(RangeError);
      await expect(ledger.hold({ ...request, windows: [bad] })).rejects.toThrow(RangeError);
      await expect(ledger.settle({ ledgerAccountId: id, callId, billedSeconds: bad })).rejects.toThrow(RangeError);
      await expectUnmoved(id, before);
    });

    it('with an unknown account is rejected by every operation and creates no account', async () => {
      const id = newLedgerAccountId();
      const call = { ledgerAccountId: id, callId: newCallId() };
      const payment = { ledgerAccountId: id, paymentId: 'p1', amountMicros: 1 };
      const attempts = [
        () => ledger.topUp(payment),
        () => ledger.hold({ ...call, window: 0, maxDurationSeconds: 60, microsPerSecond: SECOND }),
        () => ledger.settle({ ...call, billedSeconds: 0 }),
        () => ledger.correct({ ...call, number: 1, amountMicros: 1, reason: 'x' }),
        () => ledger.balance(id),
        () => ledger.audit(id),
        () => ledger.frozen(id),
      ];
      for (const attempt of attempts) await expect(attempt()).rejects.toThrow(/ledger account .* does not exist/);
      expect(await ledger.accounts(id.replace('~live#0', ''))).toEqual([]);
    });

    it('with an invalid call id or account id is rejected', async () => {
      const id = await accountWith(100);
      const call = { ledgerAccountId: id, callId: 'call_$x.y' };
      await expect(
        ledger.hold({ ...call, window: 0, maxDurationSeconds: 60, microsPerSecond: SECOND }),
      ).rejects.toThrow(RangeError);
      await expect(ledger.settle({ ...call, billedSeconds: 0 })).rejects.toThrow(RangeError);
      const payment = { ledgerAccountId: 'acct.$x', paymentId: 'p1', amountMicros: 1 };
      await expect(ledger.topUp(payment)).rejects.toThrow(RangeError);
    });

    it.each([1, 2 ** 31])('with another amount (%d) for a known payment changes nothing', async (amountMicros) => {
      const id = await accountWith(100);
      const before = await ledger.balance(id);
      const payment = { ledgerAccountId: id, paymentId: 'p1', amountMicros };
      await expect(ledger.topUp(payment)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await ledger.sweep(id);
      await expect(ledger.topUp(payment)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await expectUnmoved(id, before);
    });
  });
}
