import type { Micros } from '../../kernel/money.js';

/** What moved an account's money, as its owner is told. A refusal moves nothing; it explains a 402 or an early end. */
export type StatementEntryType = 'top_up' | 'hold' | 'refusal' | 'settlement' | 'correction';

/** The four amounts of a balance: credited - billed = available + held. */
export interface Amounts {
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
}

/** One entry of a statement. The amounts are what it changed, signed: over all entries each adds up to the balance. */
export interface StatementEntry extends Amounts {
  id: string;
  type: StatementEntryType;
  at: Date;
  callId?: string;
  paymentId?: string;
  /** Which window a hold is, from 0. */
  window?: number;
  /** Whole seconds that a settlement bills. */
  billedSeconds?: number;
  /** Why a hold was refused or cut short (an error code), or what a correction puts right (a sentence). */
  reason?: string;
}

export type UsageGrouping = 'day' | 'agent';

/** Billed calls, their seconds and their price, of one UTC day (`2026-11-21`) or one agent. */
export interface UsageRow {
  key: string;
  /** The name the agent has now. */
  agentName?: string;
  calls: number;
  seconds: number;
  costMicros: Micros;
}

/** Stands for all temporary agents together: each lives for one call. */
export const TEMPORARY_AGENTS = 'temporary';
/** Stands for calls whose record is gone. */
export const UNKNOWN_AGENT = 'unknown';

const DAY_MS = 86_400_000;

/** The longest period that usage is added up for, and the one taken when none is given. */
export const MAX_USAGE_DAYS = 366;
const DEFAULT_USAGE_DAYS = 30;

/** A half-open period: `from` is in it, `to` is not. */
export interface Period {
  from: Date;
  to: Date;
}

/**
 * The period that usage is told for: ends now and holds today with the 29 UTC days before it, unless given otherwise.
 * @returns a sentence when the period cannot be told
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

/** The UTC day of a moment, such as `2026-11-21`. */
export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** A moment as statements take it: `2026-11-21` (its first instant) or `2026-11-21T10:00:00Z`, in UTC; else undefined. */
export function utcMoment(text: string): Date | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.exec(text);
  if (!match) return undefined;
  const at = new Date(text);
  // A day that no month has is moved to the next month by Date; nobody means that.
  return Number.isNaN(at.getTime()) || utcDay(at) !== match[1] ? undefined : at;
}
