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

/** A number that reaches a service of its country and no ordinary line. */
export type ServiceNumber = 'emergency' | 'short';

/** What national numbering plans say. */
export interface NumberingPlans {
  /** What kind of service number an E.164 number is; undefined when it may be an ordinary line. */
  serviceNumber(number: string): ServiceNumber | undefined;
  /**
   * Whether an E.164 number has a trunk prefix behind its country code, as in +44 0 20…. Networks drop the prefix and reach
   * the same line, while no rule that goes by the first digits applies.
   */
  hasTrunkPrefix(number: string): boolean;
  /**
   * The number without the digits behind it that its country has no use for. Networks ignore them and ring the same line,
   * so it is counted by what this returns.
   */
  withoutSurplusDigits(number: string): string;
  /** The country code, with its plus, of a premium-rate or personal number; undefined for every other number. */
  countryOfDearNumber(number: string): string | undefined;
}

/** What decides where an account may call. */
export interface DestinationRules {
  caps: readonly DestinationCap[];
  /** Lists of E.164 prefixes, with or without the plus; a number must be on each list that says anything at all. */
  prefixLists: readonly (readonly string[])[];
  plans: NumberingPlans;
  /** Whether premium-rate and personal numbers are refused, where no rule in caps allows their range. */
  refusesDearNumbers: boolean;
}

const DEAR_NUMBER_FAULT =
  'This is a premium-rate or personal number of its country, which this account may not call. Call an ordinary line, or ask the operator to allow the prefix.';

const SERVICE_NUMBER_FAULTS: Readonly<Record<ServiceNumber, string>> = {
  emergency: 'Emergency numbers are never called.',
  short: 'Short numbers of national services are never called. Use a full number in E.164, like +12025550123.',
};

const TRUNK_PREFIX_FAULT =
  'to_phone_number: write the number in E.164 without the national trunk prefix, like +442079460123 for 020 7946 0123.';

/** Whether no account may ever have this number dialed: it reaches a service, or its spelling evades the rules. */
export function isNeverDialed(number: string, plans: NumberingPlans): boolean {
  return plans.serviceNumber(number) !== undefined || plans.hasTrunkPrefix(number);
}

/** Why a number may not be called, in a sentence for the client; undefined when it may. */
export function destinationFault(to: string, rules: DestinationRules): string | undefined {
  const { caps, prefixLists, plans } = rules;
  const service = plans.serviceNumber(to);
  if (service !== undefined) return SERVICE_NUMBER_FAULTS[service];
  if (plans.hasTrunkPrefix(to)) return TRUNK_PREFIX_FAULT;
  const allowed = prefixLists.every(
    (prefixes) => prefixes.length === 0 || prefixes.some((prefix) => to.startsWith(`+${prefix.replace(/^\+/, '')}`)),
  );
  if (!allowed) return 'This account may not call numbers of this country.';
  if (isBlockedDestination(to, caps)) return 'This account may not call numbers of this range.';
  return rules.refusesDearNumbers && isRefusedAsDear(to, rules) ? DEAR_NUMBER_FAULT : undefined;
}

/** A rule for all of a country says nothing of its dear numbers, as it says nothing of high-risk prefixes. */
function isRefusedAsDear(to: string, { caps, plans }: DestinationRules): boolean {
  const country = plans.countryOfDearNumber(to);
  return country !== undefined && !caps.some(({ prefix }) => to.startsWith(prefix) && prefix.length > country.length);
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
