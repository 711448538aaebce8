import { priceOfSeconds, rateOf, secondsCovered } from '../../kernel/money.js';
import type { LedgerMarker } from './model.js';

/** Returns the whole seconds a hold grants at its own price. */
export function heldSecondsOf(hold: LedgerMarker): number {
  return secondsCovered(hold.amountMicros ?? 0, rateOf(hold));
}

/**
 * Returns the whole seconds a settlement bills (not the requested ones), or, as a negative number, those a correction
 * credits; 0 for other operations.
 */
export function billedSecondsOf(entry: LedgerMarker): number {
  if (entry.type === 'settlement') return secondsCovered(entry.billedMicros ?? 0, rateOf(entry));
  if (entry.type !== 'correction') return 0;
  // `0 - x` avoids -0, which would be printed as such. Older corrections have no `creditedSeconds`.
  return 0 - (entry.creditedSeconds ?? secondsCovered(entry.amountMicros ?? 0, rateOf(entry)));
}

/**
 * Whether an operation's amounts are whole seconds at its own price. A settlement must bill exactly the requested
 * seconds, capped by the held ones.
 */
export function isPricedExactly(entry: LedgerMarker): boolean {
  const rate = rateOf(entry);
  if (entry.type === 'hold') return (entry.amountMicros ?? 0) % rate === 0;
  if (entry.type !== 'settlement') return true;
  const { billedSeconds = 0, heldMicros = 0, billedMicros = 0 } = entry;
  return billedMicros === priceOfSeconds(Math.min(billedSeconds, secondsCovered(heldMicros, rate)), rate);
}
