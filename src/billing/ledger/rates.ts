import { priceOfSeconds, rateOf, secondsCovered } from '../../kernel/money.js';
import type { LedgerMarker } from './model.js';

/** Returns the whole seconds that a hold grants at the price recorded in it. */
export function heldSecondsOf(hold: LedgerMarker): number {
  return secondsCovered(hold.amountMicros ?? 0, rateOf(hold));
}

/**
 * For a settlement, returns the whole seconds billed (not those requested). For a correction, returns the credited
 * seconds as a negative number. Returns 0 for other operations.
 */
export function billedSecondsOf(entry: LedgerMarker): number {
  if (entry.type === 'settlement') return secondsCovered(entry.billedMicros ?? 0, rateOf(entry));
  if (entry.type !== 'correction') return 0;
  // `0 - x` avoids -0, which would be printed. Older corrections have no `creditedSeconds`.
  return 0 - (entry.creditedSeconds ?? secondsCovered(entry.amountMicros ?? 0, rateOf(entry)));
}

/**
 * Whether an operation's amounts are whole seconds at the price recorded in it. A settlement must bill exactly the
 * requested seconds, at most the held ones.
 */
export function isPricedExactly(entry: LedgerMarker): boolean {
  const rate = rateOf(entry);
  if (entry.type === 'hold') return (entry.amountMicros ?? 0) % rate === 0;
  if (entry.type !== 'settlement') return true;
  const { billedSeconds = 0, heldMicros = 0, billedMicros = 0 } = entry;
  return billedMicros === priceOfSeconds(Math.min(billedSeconds, secondsCovered(heldMicros, rate)), rate);
}
