import { InvalidArgumentError } from 'commander';
import type { DestinationCap } from '../kernel/destinations/destinations.js';
import { isE164 } from '../kernel/phone-number.js';
import { MICROS_PER_USD, type Micros } from '../kernel/money.js';
import { isPaymentId } from '../billing/ledger/keys.js';
import { utcMoment } from '../billing/statements/statement.js';

const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a whole number. */
export function parseWholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('The value must be a whole number.');
  return Number(text);
}

/** Parses a decimal number that is not negative. */
export function parseNumber(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('The value must be a number like 0.7.');
  return Number(text);
}

/**
 * Parses a whole number, or `default` for the plan's value. The result for `default` is not null, because commander
 * treats null as a missing value.
 */
export function parseWholeNumberOrDefault(text: string): number | 'default' {
  return text === 'default' ? text : parseWholeNumber(text);
}

/** Parses an id. Returns null for `none`. */
export function parseIdOrNone(text: string): string | null {
  return text === 'none' ? null : text;
}

/** The shortest phone numbers of any country have this many digits, with the country code. */
const MIN_PHONE_DIGITS = 7;

/** Parses a phone number in E.164. A few digits are no phone number, but are in many texts. */
export function parsePhoneNumber(text: string): string {
  if (isE164(text) && text.length > MIN_PHONE_DIGITS) return text;
  throw new InvalidArgumentError('The value must be a phone number with its country code, like +12025550123.');
}

/** Parses a payment's id, which has the same format as in payment webhooks. */
export function parsePaymentId(text: string): string {
  if (!isPaymentId(text)) throw new InvalidArgumentError('The value must have 1 to 128 letters, digits, _ or -.');
  return text;
}

/** Parses an amount in USD with at most six decimals and converts it to micro-USD without rounding. */
export function parseUsd(text: string): Micros {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match)
    throw new InvalidArgumentError('The value must be an amount in USD like 25 or 0.15, with at most six decimals.');
  const micros = Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? '').padEnd(6, '0'));
  if (micros === 0) throw new InvalidArgumentError('The value must be more than 0.');
  return micros;
}

/** Parses an amount in USD, `none` for no limit, or `default` for the service's default. */
export function parseUsdOrNone(text: string): Micros | 'none' | 'default' {
  return text === 'none' || text === 'default' ? text : parseUsd(text);
}

/** Parses a whole number, `none` for no limit, or `default` for the service's default. */
export function parseWholeNumberOrNone(text: string): number | 'none' | 'default' {
  return text === 'none' ? text : parseWholeNumberOrDefault(text);
}

/** Parses a time (`2027-01-31`, `2027-01-31T12:00:00Z`) or a duration from now (`30d`, `12h`, `90m`). */
export function parseExpiry(text: string): Date {
  const span = /^(\d{1,6})([mhd])$/.exec(text);
  if (span) return new Date(Date.now() + Number(span[1]) * (UNIT_MS[span[2] ?? ''] ?? 0));
  const date = new Date(text);
  if (!/^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError(
      'The value must be a date like 2027-01-31 or a duration from now like 30d, 12h or 90m.',
    );
  }
  return date;
}

/** Parses a UTC time, in the format of the statement endpoints. */
export function parseTime(text: string): Date {
  const at = utcMoment(text);
  if (at === undefined)
    throw new InvalidArgumentError('The value must be a UTC time like 2026-11-01 or 2026-11-01T12:00:00Z.');
  return at;
}

/** Parses a comma-separated list of country prefixes (`+1,+44`), or `all`. */
export function parsePrefixes(text: string): string[] | 'all' {
  return text === 'all' ? text : text.split(',').map((prefix) => prefix.trim());
}

/**
 * Parses a comma-separated list of destination rules, or `none`. A rule is a prefix with its limits
 * (`+1900:5/hour:20/day`) or a block (`+44:block`).
 */
export function parseDestinationCaps(text: string): DestinationCap[] | 'none' {
  if (text === 'none') return text;
  return text.split(',').map((rule) => {
    const [prefix = '', ...parts] = rule.trim().split(':');
    if (parts.length === 0) throw new InvalidArgumentError(`${prefix} needs a rule: 5/hour, 20/day, block or allow.`);
    return Object.assign({ prefix }, ...parts.map(capOf)) as DestinationCap;
  });
}

function capOf(part: string): Omit<DestinationCap, 'prefix'> {
  if (part === 'allow') return {};
  if (part === 'block') return { blocked: true };
  const match = /^(\d{1,9})\/(hour|day)$/.exec(part);
  if (!match) throw new InvalidArgumentError(`${part} must be a rule like 5/hour, 20/day, block or allow.`);
  return match[2] === 'hour' ? { callsPerHour: Number(match[1]) } : { callsPerDay: Number(match[1]) };
}
