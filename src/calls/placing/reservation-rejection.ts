import type { ReservationResult } from '../../kernel/call-signals.js';
import type { Micros } from '../../kernel/money.js';

/** A shortage that makes a call fail: of concurrency slots if `full` is set, otherwise of money. */
export interface Shortage {
  /** Price of the call's first hold window. */
  firstMicros: Micros;
  /** The account's concurrency slots, if all are taken. */
  full?: { limit: number; current: number };
  /** Amount billed and held on the UTC day; absent if the account has no daily limit. */
  day?: { spentMicros: Micros; capMicros: Micros };
}

/**
 * Returns the rejection of a call that lacks a concurrency slot or money. A reached daily limit comes first, because
 * then neither waiting for a slot nor a top-up helps.
 */
export function reservationRejection(shortage: Shortage): Extract<ReservationResult, { outcome: 'refused' }> {
  const { firstMicros, full, day } = shortage;
  if (day !== undefined && day.spentMicros + firstMicros > day.capMicros) {
    return { outcome: 'refused', code: 'SPEND_LIMIT_EXCEEDED' };
  }
  if (full !== undefined) return { outcome: 'refused', code: 'CONCURRENCY_LIMIT_EXCEEDED', ...full };
  return { outcome: 'refused', code: 'INSUFFICIENT_BALANCE' };
}
