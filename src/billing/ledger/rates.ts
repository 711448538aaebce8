import { priceOfSeconds, rateOf, secondsCovered } from '../../kernel/money.js';
import type { LedgerMarker } from './model.js';

/** Whole seconds that a hold grants, by the price it was made at. */
export function heldSecondsOf(hold: LedgerMarker): number {
  return secondsCovered(hold.amountMicros ?? 0, rateOf(hold));
}

/**
 * Whole seconds that a settlement bills (not those it was asked for) and that a correction takes back, negative; 0 for
 * any other operation.
 */
export function billedSecondsOf(entry: LedgerMarker): number {
  if (entry.type === 'settlement') return secondsCovered(entry.billedMicros ?? 0, rateOf(entry));
  if (entry.type !== 'correction') return 0;
  // 0 - x: a negative zero would be written as one. Older corrections carry no seconds.
  return 0 - (entry.creditedSeconds ?? secondsCovered(entry.amountMicros ?? 0, rateOf(entry)));
}

/**
 * Whether an operation's amounts are whole seconds at the price it carries: a hold's, and what a settlement bills of the
 * seconds it was asked for, no more than it held.
 */
export function isPricedExactly(entry: LedgerMarker): boolean {
  const rate = rateOf(entry);
  if (entry.type === 'hold') return (entry.amountMicros ?? 0) % rate === 0;
  if (entry.type !== 'settlement') return true;
  const { billedSeconds = 0, heldMicros = 0, billedMicros = 0 } = entry;
  return billedMicros === priceOfSeconds(Math.min(billedSeconds, secondsCovered(heldMicros, rate)), rate);
}
