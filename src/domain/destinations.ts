import { HIGH_RISK_PREFIXES } from './high-risk-prefixes.js';

/** What an account may do with numbers that begin so. The prefix is E.164, with its plus. */
export interface DestinationCap {
  prefix: string;
  callsPerHour?: number;
  callsPerDay?: number;
  blocked?: boolean;
}

/** A cap that counts, for one call. */
export interface CountedCap {
  prefix: string;
  period: 'hour' | 'day';
  limit: number;
}

/** Numbers that nobody has, reserved for fiction: test mode counts no calls to them. */
const FICTIONAL_NUMBER = /^\+1\d{3}55501\d{2}$/;

export function isFictionalNumber(to: string): boolean {
  return FICTIONAL_NUMBER.test(to);
}

/**
 * Whether a number may not be called. Of the account's rules and the service's high-risk prefixes the longest that
 * matches decides; at the same length the account's does.
 */
export function isBlockedDestination(to: string, caps: readonly DestinationCap[]): boolean {
  const rule = longest(caps.filter(({ prefix }) => to.startsWith(prefix)));
  const risk = HIGH_RISK_PREFIXES.find((prefix) => to.startsWith(prefix));
  if (risk !== undefined && risk.length > (rule?.prefix.length ?? 0)) return true;
  return rule?.blocked === true;
}

function longest(caps: readonly DestinationCap[]): DestinationCap | undefined {
  return caps.toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
}

/** The counts that a call to this number is part of: every cap of the account whose prefix matches. */
export function countedCaps(to: string, caps: readonly DestinationCap[]): CountedCap[] {
  return caps
    .filter(({ prefix }) => to.startsWith(prefix))
    .flatMap(({ prefix, callsPerHour, callsPerDay }) => [
      ...(callsPerHour === undefined ? [] : [{ prefix, period: 'hour' as const, limit: callsPerHour }]),
      ...(callsPerDay === undefined ? [] : [{ prefix, period: 'day' as const, limit: callsPerDay }]),
    ]);
}
