import fc from 'fast-check';
import { HOLD_WINDOW_SECONDS } from '../../../src/kernel/hold-windows.js';
import { DEFAULT_MICROS_PER_SECOND, MAX_MICROS_PER_SECOND } from '../../../src/kernel/money.js';
import type { Ledger } from '../../../src/billing/ledger/ledger.js';
import { newCallId, newLedgerAccountId } from './test-database.js';

const RUNS = 40;

/** Tests of calls with different prices. A ledger must pass them on every storage. */
export function describeLedgerRates(getLedger: () => Ledger): void {
  async function accountWith(amountMicros: number): Promise<string> {
    const id = newLedgerAccountId();
    await getLedger().open(id);
    await getLedger().topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros });
    return id;
  }
  const newCall = (ledgerAccountId: string, microsPerSecond: number) => ({
    ledgerAccountId,
    callId: newCallId(),
    maxDurationSeconds: 14_400,
    microsPerSecond,
  });
  const expectBalance = async (id: string, balance: object) => {
    expect(await getLedger().balance(id)).toMatchObject(balance);
    expect(await getLedger().audit(id)).toMatchObject({ balanced: true, mispriced: 0 });
  };

  describe('calls of one account at different rates', () => {
    it('are held, extended and billed at their own rates', async () => {
      const id = await accountWith(100_000_000);
      const [cheap, dear] = [newCall(id, 833), newCall(id, 40_000)];
      await Promise.all([cheap, dear].map((call) => getLedger().hold({ ...call, window: 0 })));
      await expectBalance(id, { heldMicros: 60 * 833 + 60 * 40_000 });
      expect(await getLedger().hold({ ...dear, window: 1 })).toMatchObject({ grantedSeconds: 180, heldSeconds: 240 });
      expect(await getLedger().hold({ ...cheap, window: 1 })).toMatchObject({ grantedSeconds: 180, heldSeconds: 240 });
      await expectBalance(id, { heldMicros: 240 * 833 + 240 * 40_000 });
      expect(await getLedger().settle({ ...dear, billedSeconds: 61 })).toEqual({
        billedSeconds: 61,
        billedMicros: 61 * 40_000,
        heldMicros: 240 * 40_000,
      });
      await getLedger().sweep(id);
      expect(await getLedger().settle({ ...cheap, billedSeconds: 999 })).toMatchObject({
        billedSeconds: 240,
        billedMicros: 240 * 833,
      });
      await expectBalance(id, { heldMicros: 0, billedMicros: 61 * 40_000 + 240 * 833 });
    });

    it('keep the rate of their first window, even if a later request has another', async () => {
      const id = await accountWith(100_000_000);
      const call = newCall(id, 40_000);
      await getLedger().hold({ ...call, window: 0 });
      const changed = { ...call, microsPerSecond: DEFAULT_MICROS_PER_SECOND };
      expect(await getLedger().hold({ ...changed, window: 0 })).toMatchObject({ grantedSeconds: 60 });
      expect(await getLedger().hold({ ...changed, window: 1 })).toMatchObject({
        grantedSeconds: 180,
        heldSeconds: 240,
      });
      await expectBalance(id, { heldMicros: 240 * 40_000 });
      expect(await getLedger().settle({ ...call, billedSeconds: 100 })).toMatchObject({ billedMicros: 4_000_000 });
    });

    it('are rejected or granted in part according to their rate', async () => {
      const id = await accountWith(60 * 40_000 - 1);
      expect(await getLedger().hold({ ...newCall(id, 40_000), window: 0 })).toMatchObject({
        grantedSeconds: 0,
        refusal: 'INSUFFICIENT_BALANCE',
      });
      const call = newCall(id, 39_999);
      expect(await getLedger().hold({ ...call, window: 0 })).toMatchObject({ grantedSeconds: 60 });
      // 59 micro-USD are left. They pay for less than one second of this call, although they would pay for 59 s at 1
      // micro-USD per second.
      expect(await getLedger().hold({ ...call, window: 1 })).toMatchObject({ grantedSeconds: 0, heldSeconds: 60 });
      await expectBalance(id, { availableMicros: 59, heldMicros: 60 * 39_999 });
    });

    it.each([0, -1, 0.5, Number.NaN, MAX_MICROS_PER_SECOND + 1])('cannot have the rate %d', async (microsPerSecond) => {
      const id = await accountWith(100_000_000);
      const call = newCall(id, microsPerSecond);
      await expect(getLedger().hold({ ...call, window: 0 })).rejects.toThrow(RangeError);
      await expectBalance(id, { heldMicros: 0 });
    });
  });

  it('loses and creates no micro-USD and bills whole seconds, for any rate, balance, duration and credit', async () => {
    const script = fc.record({
      rate: fc.oneof(fc.constantFrom(1, 833, 2_500, MAX_MICROS_PER_SECOND), fc.integer({ min: 1, max: 50_000 })),
      funds: fc.integer({ min: 1, max: 20_000 * 2_500 }),
      windows: fc.integer({ min: 0, max: HOLD_WINDOW_SECONDS.length }),
      talked: fc.integer({ min: 0, max: 5_000 }),
      credits: fc.array(fc.integer({ min: 1, max: 500_000 }), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(script, async ({ rate, funds, windows, talked, credits }) => {
        const id = await accountWith(funds);
        const call = newCall(id, rate);
        let held = 0;
        for (let window = 0; window < windows; window++) {
          const answer = await getLedger().hold({ ...call, window });
          held = answer.heldSeconds;
          if (answer.last) break;
        }
        expect(held > 0).toBe(windows > 0 && funds >= 60 * rate);
        await expectBalance(id, { availableMicros: funds - held * rate, heldMicros: held * rate });
        const billedSeconds = Math.min(talked, held);
        expect(await getLedger().settle({ ...call, billedSeconds: talked })).toEqual({
          billedSeconds,
          billedMicros: billedSeconds * rate,
          heldMicros: held * rate,
        });
        let billedMicros = billedSeconds * rate;
        for (const [index, amountMicros] of credits.entries()) {
          if (amountMicros > billedMicros) break;
          const correction = { ...call, number: index + 1, amountMicros, reason: 'a property' };
          await getLedger().correct(correction);
          billedMicros -= amountMicros;
        }
        await expectBalance(id, { availableMicros: funds - billedMicros, heldMicros: 0, billedMicros });
      }),
      { numRuns: RUNS },
    );
  }, 120_000);
}
