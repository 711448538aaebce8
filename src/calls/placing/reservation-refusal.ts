import type { ReservationAnswer } from '../../kernel/call-signals.js';
import type { Micros } from '../../kernel/money.js';

/** What an account lacks for a call: a concurrency slot, or, without `full`, money. */
export interface Shortage {
  /** Price of the first window. */
  firstMicros: Micros;
  /** The account's concurrency slots, if all are taken. */
  full?: { limit: number; current: number };
  /** Billed and held during the UTC day; absent if the account has no daily limit. */
  day?: { spentMicros: Micros; capMicros: Micros };
}

/**
 * The refusal of a call that lacks a concurrency slot or money. A reached daily limit is reported first, because then
 * neither waiting for a slot nor a top-up helps.
 */
export function reservationRefusal(shortage: Shortage): Extract<ReservationAnswer, { outcome: 'refused' }> {
  const { firstMicros, full, day } = shortage;
  if (day !== undefined && day.spentMicros + firstMicros > day.capMicros) {
    return { outcome: 'refused', code: 'SPEND_LIMIT_EXCEEDED' };
  }
  if (full !== undefined) return { outcome: 'refused', code: 'CONCURRENCY_LIMIT_EXCEEDED', ...full };
  return { outcome: 'refused', code: 'INSUFFICIENT_BALANCE' };
}
