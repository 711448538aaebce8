import { billedSecondsOf, heldSecondsOf, isPricedExactly } from '../../src/billing/ledger/rates.js';
import type { LedgerMarker } from '../../src/billing/ledger/model.js';

const entry = (fields: Partial<LedgerMarker> & Pick<LedgerMarker, 'type'>): LedgerMarker => ({
  epoch: 0,
  at: new Date(0),
  ...fields,
});

describe('seconds of a ledger entry', () => {
  it('go by the price that the entry carries', () => {
    expect(heldSecondsOf(entry({ type: 'hold', amountMicros: 120_000, microsPerSecond: 2_000 }))).toBe(60);
    const settled = { type: 'settlement' as const, heldMicros: 120_000, billedMicros: 14_000, microsPerSecond: 2_000 };
    expect(billedSecondsOf(entry(settled))).toBe(7);
  });

  it('go by the default in entries from before rates could differ', () => {
    expect(heldSecondsOf(entry({ type: 'hold', amountMicros: 150_000 }))).toBe(60);
    expect(billedSecondsOf(entry({ type: 'settlement', heldMicros: 150_000, billedMicros: 17_500 }))).toBe(7);
    expect(billedSecondsOf(entry({ type: 'correction', amountMicros: 5_000 }))).toBe(-2);
    expect(billedSecondsOf(entry({ type: 'correction', amountMicros: 4_999 }))).toBe(-1);
  });

  it('are those that a correction took off, and none of other entries', () => {
    const correction = { type: 'correction' as const, amountMicros: 1, microsPerSecond: 2_000, creditedSeconds: 1 };
    expect(billedSecondsOf(entry(correction))).toBe(-1);
    expect(billedSecondsOf(entry({ type: 'hold', amountMicros: 150_000 }))).toBe(0);
    expect(Object.is(billedSecondsOf(entry({ type: 'correction', amountMicros: 1 })), 0)).toBe(true);
  });
});

describe('an entry is priced exactly', () => {
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
  ])('%j: %p', (fields, exact) => {
    expect(isPricedExactly(entry(fields))).toBe(exact);
  });
});
