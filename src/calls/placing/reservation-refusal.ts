import type { ReservationAnswer } from '../../kernel/call-signals.js';
import type { Micros } from '../../kernel/money.js';

/** What an account lacks for a call: a place, or, without `full`, money. */
export interface Shortage {
  /** Price of the first window. */
  firstMicros: Micros;
  /** The account's places, when all are taken. */
  full?: { limit: number; current: number };
  /** Billed and held of the UTC day; absent: the account has no daily limit. */
  day?: { spentMicros: Micros; capMicros: Micros };
}

/**
 * The refusal of a call that has no place or no money, in the order in which clients are told: of the day's limit first, for
 * neither waiting for a place nor a top-up would help them.
 */
export function reservationRefusal(shortage: Shortage): Extract<ReservationAnswer, { outcome: 'refused' }> {
  const { firstMicros, full, day } = shortage;
  if (day !== undefined && day.spentMicros + firstMicros > day.capMicros) {
    return { outcome: 'refused', code: 'SPEND_LIMIT_EXCEEDED' };
  }
  if (full !== undefined) return { outcome: 'refused', code: 'CONCURRENCY_LIMIT_EXCEEDED', ...full };
  return { outcome: 'refused', code: 'INSUFFICIENT_BALANCE' };
}
