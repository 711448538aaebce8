import { billedSecondsOf, heldSecondsOf, isPricedExactly } from '../../src/billing/ledger/rates.js';
import type { LedgerMarker } from '../../src/billing/ledger/model.js';

const entry = (fields: Partial<LedgerMarker> & Pick<LedgerMarker, 'type'>): LedgerMarker => ({
  epoch: 0,
  at: new Date(0),
  ...fields,
});

describe('the seconds of a ledger entry', () => {
  it('follow the price of the entry', () => {
    expect(heldSecondsOf(entry({ type: 'hold', amountMicros: 120_000, microsPerSecond: 2_000 }))).toBe(60);
    const settled = { type: 'settlement' as const, heldMicros: 120_000, billedMicros: 14_000, microsPerSecond: 2_000 };
    expect(billedSecondsOf(entry(settled))).toBe(7);
  });

  it('follow the default price in old entries without a price', () => {
    expect(heldSecondsOf(entry({ type: 'hold', amountMicros: 150_000 }))).toBe(60);
    expect(billedSecondsOf(entry({ type: 'settlement', heldMicros: 150_000, billedMicros: 17_500 }))).toBe(7);
    expect(billedSecondsOf(entry({ type: 'correction', amountMicros: 5_000 }))).toBe(-2);
    expect(billedSecondsOf(entry({ type: 'correction', amountMicros: 4_999 }))).toBe(-1);
  });

  it('are negative for a correction and zero for a hold', () => {
    const correction = { type: 'correction' as const, amountMicros: 1, microsPerSecond: 2_000, creditedSeconds: 1 };
    expect(billedSecondsOf(entry(correction))).toBe(-1);
    expect(billedSecondsOf(entry({ type: 'hold', amountMicros: 150_000 }))).toBe(0);
    expect(Object.is(billedSecondsOf(entry({ type: 'correction', amountMicros: 1 })), 0)).toBe(true);
  });
});

describe('the price check of a ledger entry', () => {
  const settlement = { type: 'settlement' as const, heldMicros: 600, microsPerSecond: 10 };
  it.each([
    [{ type: 'hold' as const, amountMicros: 600, microsPerSecond: 10 }, true],
    [{ type: 'hold' as const, amountMicros: 601, microsPerSecond: 10 }, false],
    [{ type: 'hold' as const, amountMicros: 600 }, false],
    [{ type: 'hold' as const, amountMicros: 0, void: true }, true],
    [{ ...settlement, billedSeconds: 7, billedMicros: 70 }, true],
    [{ ...settlement, billedSeconds: 7, billedMicros: 17_500 }, false],
    [{ ...settlement, billedSeconds: 7, billedMicros: 60 }, false],
    [{ ...settlement, billedSeconds: 61, billedMicros: 600 }, true],
    [{ ...settlement, billedSeconds: 61, billedMicros: 610 }, false],
    [{ type: 'settlement' as const, heldMicros: 0, billedSeconds: 9, billedMicros: 0 }, true],
    [{ type: 'correction' as const, amountMicros: 3, microsPerSecond: 10, creditedSeconds: 0 }, true],
    [{ type: 'topUp' as const, amountMicros: 3 }, true],
  ])('of %j is %p', (fields, exact) => {
    expect(isPricedExactly(entry(fields))).toBe(exact);
  });
});
