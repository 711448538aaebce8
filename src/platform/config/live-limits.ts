import { z } from 'zod';
import type { Mode } from '../../kernel/ids.js';
import { MICROS_PER_USD, type Micros } from '../../kernel/money.js';
import { isLiveCarrierReal } from './carriers/carriers.js';

/**
 * Default limits for live calls that cost the operator money. They limit the damage by a thief of a key. An operator can
 * set other limits for an account.
 */
export interface LiveLimits {
  /** Maximum billed and held per account and UTC day, in micro-USD; absent: unlimited. */
  dailySpendCapMicros?: Micros;
  /**
   * Unanswered call attempts to one number per UTC hour, from all accounts together; absent: unlimited. One account leaves
   * the last two to others.
   */
  unansweredAttemptsPerHour?: number;
  /** Calls and transfers that an account may place per UTC day, and calls that it may receive; absent: unlimited. */
  liveCallsPerDay?: number;
}

/** Maximum value of `unansweredAttemptsPerHour`, because one document stores all counted attempts of an hour. */
export const MAX_UNANSWERED_ATTEMPTS = 10_000;
/** Maximum value of `liveCallsPerDay`, because one document stores all counted calls of a day. */
export const MAX_LIVE_CALLS_PER_DAY = 10_000;
const MAX_TEST_CALLS_PER_DAY = 10_000;

export const liveLimitVariables = {
  ALLOWED_COUNTRY_PREFIXES: z
    .string()
    .refine(
      (text) =>
        text.trim() === 'all' || text.split(',').every((prefix) => /^(?:\s*\+?[1-9]\d{0,14})?\s*$/.test(prefix)),
      'must be a comma-separated list of prefixes of E.164 numbers, like +1,+44, or the word all',
    )
    .default('')
    .meta({
      description: 'E.164 prefixes that may be called, such as `+1,+44`, or `all`; required in production',
      shown: '`all`; none in production',
      production: '+1',
    }),
  DAILY_SPEND_CAP_USD: z
    .union(
      [z.literal('none'), z.string().regex(/^\d{1,9}(?:\.\d{1,6})?$/)],
      'must be an amount of USD like 50, or none',
    )
    .default('50')
    .meta({
      description:
        'USD that an account may spend on live calls in a UTC day unless an operator has set another limit, or `none`; received calls are rejected at 80 % of it; on the simulated carrier only in production with an engine other than `offline-demo`',
      production: '50',
    }),
  UNANSWERED_ATTEMPTS_PER_HOUR: z
    .union(
      [z.literal('none'), z.coerce.number().int().min(0).max(MAX_UNANSWERED_ATTEMPTS)],
      'must be a whole number from 0 to 10,000, or none',
    )
    .default(5)
    .meta({
      description:
        'unanswered attempts that one number may get in a UTC hour from all accounts together, or `none`; one account leaves the last two to accounts that have not tried the number in this hour; not on the simulated carrier',
      production: '5',
    }),
  LIVE_CALLS_PER_DAY: z
    .union(
      [z.literal('none'), z.coerce.number().int().min(0).max(MAX_LIVE_CALLS_PER_DAY)],
      'must be a whole number from 0 to 10,000, or none',
    )
    .default(2_000)
    .meta({
      description:
        'live calls and transfers that an account may place in a UTC day, and live calls that it may receive, unless an operator has set another limit, or `none`; on the simulated carrier only in production with an engine other than `offline-demo`',
      production: '2000',
    }),
  TEST_CALLS_PER_DAY: z
    .union(
      [z.literal('none'), z.coerce.number().int().min(0).max(MAX_TEST_CALLS_PER_DAY)],
      'must be a whole number from 0 to 10,000, or none',
    )
    .default(2_000)
    .meta({
      description:
        'test calls that an account may place and receive together in a UTC day, or `none`; they are free but are stored like live ones',
      production: '2000',
    }),
  LIVE_TRANSFERS: z.enum(['on', 'off'], 'must be on or off').optional().meta({
    description:
      'whether agents may [transfer](agents.md#transfers) live calls on a real carrier, which bills two legs while the account pays for one',
    shown: '`on`, in production `off`',
    production: 'off',
  }),
};

/**
 * Reads the default limits of live calls from the environment. Calls of the simulated carrier reach no phone, but engines
 * cost money on any carrier. So in production with such an engine only the limit of unanswered attempts is absent there.
 * @param hasPaidEngine whether an engine other than `offline-demo` is configured
 * @returns undefined if live calls cost the operator nothing, and in development on the simulated carrier
 */
export function defaultLiveLimits(
  values: {
    NODE_ENV: string;
    CARRIER?: string | undefined;
    DAILY_SPEND_CAP_USD: string;
    UNANSWERED_ATTEMPTS_PER_HOUR: number | 'none';
    LIVE_CALLS_PER_DAY: number | 'none';
  },
  hasPaidEngine: boolean,
): LiveLimits | undefined {
  const { DAILY_SPEND_CAP_USD: cap, UNANSWERED_ATTEMPTS_PER_HOUR: attempts, LIVE_CALLS_PER_DAY: calls } = values;
  const isReal = isLiveCarrierReal(values);
  if (!isReal && !(hasPaidEngine && values.NODE_ENV === 'production')) return undefined;
  return {
    ...(cap === 'none' ? {} : { dailySpendCapMicros: microsOf(cap) }),
    ...(attempts === 'none' || !isReal ? {} : { unansweredAttemptsPerHour: attempts }),
    ...(calls === 'none' ? {} : { liveCallsPerDay: calls }),
  };
}

/** Reads the limit of what an account's test calls may cost in a day; undefined: no limit. */
export function testSpendCapOf(values: { TEST_DAILY_SPEND_CAP_USD?: string | undefined }): Micros | undefined {
  const { TEST_DAILY_SPEND_CAP_USD: cap } = values;
  return cap === undefined ? undefined : microsOf(cap);
}

/**
 * Whether agents may transfer live calls. Off by default in production on a real carrier, because the carrier bills two
 * legs of a transferred call, and the account pays for one.
 */
export function liveTransfersOf(values: {
  NODE_ENV: string;
  CARRIER?: string | undefined;
  LIVE_TRANSFERS?: 'on' | 'off' | undefined;
}): boolean {
  if (!isLiveCarrierReal(values)) return true;
  return (values.LIVE_TRANSFERS ?? (values.NODE_ENV === 'production' ? 'off' : 'on')) === 'on';
}

/** Whether agents may transfer calls of this mode. Test calls always use the simulated carrier, which costs nothing. */
export function mayTransfer(calls: { liveTransfers: boolean }, mode: Mode): boolean {
  return mode === 'test' || calls.liveTransfers;
}

/** Converts USD to micro-USD. Exact, because the amount has at most six decimals. */
function microsOf(usd: string): Micros {
  const [whole = '', decimals = ''] = usd.split('.');
  return Number(whole) * MICROS_PER_USD + Number(decimals.padEnd(6, '0'));
}
