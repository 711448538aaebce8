import type { Micros } from '../../kernel/money.js';

/**
 * Type of a statement entry. `refusal` is a rejected hold. It changes no amount, but explains a 402 response or an
 * early end of a call.
 */
export type StatementEntryType = 'top_up' | 'hold' | 'refusal' | 'settlement' | 'correction';

/** The four amounts of a balance: credited - billed = available + held. */
export interface Amounts {
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
}

/** One entry of a statement. Its amounts are signed changes; their sums over all entries equal the balance. */
export interface StatementEntry extends Amounts {
  id: string;
  type: StatementEntryType;
  at: Date;
  callId?: string;
  paymentId?: string;
  /** Index of a hold's window, from 0. */
  window?: number;
  /** Whole seconds billed by a settlement. */
  billedSeconds?: number;
  /** An error code if a hold was rejected or granted in part; a sentence for a correction. */
  reason?: string;
}

export type UsageGrouping = 'day' | 'agent';

/** Billed calls, seconds and cost of one UTC day (`2026-11-21`) or one agent. */
export interface UsageRow {
  key: string;
  /** The agent's current name. */
  agentName?: string;
  calls: number;
  seconds: number;
  costMicros: Micros;
}

/** Group key in usage reports for all temporary agents. A temporary agent exists for one call only. */
export const TEMPORARY_AGENTS = 'temporary';
/** Group key in usage reports for calls that have no record. */
export const UNKNOWN_AGENT = 'unknown';

const DAY_MS = 86_400_000;

/** Maximum length of a usage period. */
export const MAX_USAGE_DAYS = 366;
const DEFAULT_USAGE_DAYS = 30;

/** A period that includes `from` and excludes `to`. */
export interface Period {
  from: Date;
  to: Date;
}

/**
 * Returns the period of a usage report. The default is today and the 29 UTC days before, ending now.
 * @param now ms since the epoch
 * @returns the period, or an error message if it is invalid
 */
export function usagePeriod(given: Partial<Period>, now: number): Period | string {
  const to = given.to ?? new Date(now);
  const firstDay = Math.floor((to.getTime() - 1) / DAY_MS) - (DEFAULT_USAGE_DAYS - 1);
  const from = given.from ?? new Date(firstDay * DAY_MS);
  if (from >= to) return 'from must be before to.';
  if (to.getTime() - from.getTime() > MAX_USAGE_DAYS * DAY_MS) {
    return `The period must have at most ${MAX_USAGE_DAYS} days.`;
  }
  return { from, to };
}

/** Returns the UTC day of a time, such as `2026-11-21`. */
export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/**
 * Parses a UTC time: `2026-11-21` (its first instant) or `2026-11-21T10:00:00Z`; returns undefined for anything else.
 */
export function utcMoment(text: string): Date | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.exec(text);
  if (!match) return undefined;
  const at = new Date(text);
  // `Date` moves a nonexistent day such as February 30 to the next month; reject it instead.
  return Number.isNaN(at.getTime()) || utcDay(at) !== match[1] ? undefined : at;
}
