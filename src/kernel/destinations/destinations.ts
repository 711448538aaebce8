import { HIGH_RISK_PREFIXES } from './high-risk-prefixes.js';

/** An account's rule for numbers with a prefix, which is in E.164 format with its plus sign. */
export interface DestinationCap {
  prefix: string;
  callsPerHour?: number;
  callsPerDay?: number;
  blocked?: boolean;
}

/** A limit on calls to a prefix, in an hour or day, against which one call is counted. */
export interface CountedCap {
  prefix: string;
  period: 'hour' | 'day';
  limit: number;
}

/** US numbers reserved for fiction (555-01xx). Test mode does not count calls to them against caps. */
const FICTIONAL_NUMBER = /^\+1\d{3}55501\d{2}$/;

export function isFictionalNumber(to: string): boolean {
  return FICTIONAL_NUMBER.test(to);
}

/**
 * Whether a number is blocked. The account's rules and the high-risk prefixes are searched for the longest prefix that
 * matches. If both have one of equal length, the account's rule applies.
 */
export function isBlockedDestination(to: string, caps: readonly DestinationCap[]): boolean {
  const rule = longest(caps.filter(({ prefix }) => to.startsWith(prefix)));
  const risk = HIGH_RISK_PREFIXES.find((prefix) => to.startsWith(prefix));
  if (risk !== undefined && risk.length > (rule?.prefix.length ?? 0)) return true;
  return rule?.blocked === true;
}

/** A number that reaches a national service instead of a subscriber's line. */
export type ServiceNumber = 'emergency' | 'short';

/** Lookups in the national numbering plans. */
export interface NumberingPlans {
  /** Returns the kind of service number; undefined when the E.164 number may be that of a subscriber. */
  serviceNumber(number: string): ServiceNumber | undefined;
  /**
   * Whether an E.164 number has a trunk prefix after its country code, as in +44 0 20…. Networks drop the prefix and
   * reach the same phone, but rules that match leading digits would not recognize the number.
   */
  hasTrunkPrefix(number: string): boolean;
  /**
   * Removes surplus trailing digits. Networks ignore them and ring the same phone, so calls are counted by the
   * shortened number.
   */
  withoutSurplusDigits(number: string): string;
  /**
   * Returns the country code, with its plus sign, of a premium-rate or personal number; undefined for any other number.
   */
  countryOfDearNumber(number: string): string | undefined;
}

/** Rules that decide where an account may call. */
export interface DestinationRules {
  caps: readonly DestinationCap[];
  /** Allow lists of E.164 prefixes, with or without the plus sign. A number must match every list that is not empty. */
  prefixLists: readonly (readonly string[])[];
  plans: NumberingPlans;
  /** Whether premium-rate and personal numbers are rejected. A rule in `caps` for their range allows them. */
  rejectsDearNumbers: boolean;
}

const DEAR_NUMBER_FAULT =
  'This is a premium-rate or personal number, which this account may not call. Call a regular number, or ask the operator to allow the prefix.';

const SERVICE_NUMBER_FAULTS: Readonly<Record<ServiceNumber, string>> = {
  emergency: 'Emergency numbers cannot be called.',
  short: 'Short numbers of national services cannot be called. Use a full number in E.164 format, like +12025550123.',
};

const TRUNK_PREFIX_FAULT =
  'to_phone_number must be in E.164 format without the national trunk prefix, like +442079460123 for 020 7946 0123.';

/**
 * Whether no account may ever call this number, because it reaches a national service, or because it is written so that
 * rules do not match it.
 */
export function isNeverDialed(number: string, plans: NumberingPlans): boolean {
  return plans.serviceNumber(number) !== undefined || plans.hasTrunkPrefix(number);
}

/** Returns a message for the client that says why a number may not be called; undefined when it may. */
export function destinationFault(to: string, rules: DestinationRules): string | undefined {
  const { caps, prefixLists, plans } = rules;
  const service = plans.serviceNumber(to);
  if (service !== undefined) return SERVICE_NUMBER_FAULTS[service];
  if (plans.hasTrunkPrefix(to)) return TRUNK_PREFIX_FAULT;
  const allowed = prefixLists.every(
    (prefixes) => prefixes.length === 0 || prefixes.some((prefix) => to.startsWith(`+${prefix.replace(/^\+/, '')}`)),
  );
  if (!allowed) return 'This account may not call numbers in this country. Ask the operator to allow its prefix.';
  if (isBlockedDestination(to, caps))
    return 'This account may not call numbers with this prefix. Ask the operator to allow it.';
  return rules.rejectsDearNumbers && isRejectedAsDear(to, rules) ? DEAR_NUMBER_FAULT : undefined;
}

/** Whether a number is rejected as premium-rate. A rule for a whole country does not allow its premium-rate numbers. */
function isRejectedAsDear(to: string, { caps, plans }: DestinationRules): boolean {
  const country = plans.countryOfDearNumber(to);
  return country !== undefined && !caps.some(({ prefix }) => to.startsWith(prefix) && prefix.length > country.length);
}

function longest(caps: readonly DestinationCap[]): DestinationCap | undefined {
  return caps.toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
}

/** Returns the call limits that apply to a number: those of every cap with a matching prefix. */
export function countedCaps(to: string, caps: readonly DestinationCap[]): CountedCap[] {
  return caps
    .filter(({ prefix }) => to.startsWith(prefix))
    .flatMap(({ prefix, callsPerHour, callsPerDay }) => [
      ...(callsPerHour === undefined ? [] : [{ prefix, period: 'hour' as const, limit: callsPerHour }]),
      ...(callsPerDay === undefined ? [] : [{ prefix, period: 'day' as const, limit: callsPerDay }]),
    ]);
}
