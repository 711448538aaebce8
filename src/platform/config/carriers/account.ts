import { z } from 'zod';
import type { SimulatedAccount } from './simulated-accounts.js';

/**
 * One mode's account at its carrier. We send its credentials to the carrier, and the carrier signs its requests with
 * them.
 */
export interface CarrierAccount extends SimulatedAccount {
  /** The operator's name for the account: `default` for that of the variables, `test` for that of test calls. */
  name: string;
  /** The carrier's name in the carrier registry. */
  kind: string;
  /** Whether its calls reach no one and cost nothing. */
  isSimulated: boolean;
  /** Base URL of the REST API. */
  baseUrl: string;
  /** A token that the carrier may sign with instead, while the token changes. */
  otherAuthToken?: string;
  fromNumber: string;
  /** Calls per second that may be placed; absent: no limit. */
  callsPerSecond?: number;
  /** The customers whose agents its inbound calls may have; absent: all. */
  customers?: readonly string[];
  /** Authenticates our requests instead of the auth token. The carrier's requests are signed with the token anyway. */
  apiKey?: CarrierApiKey;
}

export interface CarrierApiKey {
  sid: string;
  secret: string;
}

/** How the environment variables of a carrier are read. */
export interface CarrierSettings<Values> {
  /** Whether the carrier's calls reach no one and cost nothing. */
  isSimulated: boolean;
  /** Returns the account of live calls. @throws Error when a variable is missing */
  liveAccount(values: Values): Omit<CarrierAccount, 'isSimulated' | 'name'>;
  /** The settings that further accounts of live calls share. */
  furtherAccounts: {
    /** The calls per second of an account for which none are given; absent: no limit. */
    callsPerSecond?: number;
    baseUrl(values: Values): string;
    /** Says in production why a text cannot be a token, as the end of a sentence; undefined if it can. */
    tokenFault(token: string): string | undefined;
  };
  /**
   * Returns a sentence for each variable that does not fit the others, even if another carrier is chosen.
   * @param malformed variables that are rejected anyway
   */
  faults?(values: Values, malformed: ReadonlySet<string>): string[];
  /** Checks in production, whichever carrier is chosen. */
  inProduction?: readonly ProductionCheck<Values>[];
}

/** A check of production beyond the format of each variable. */
export interface ProductionCheck<Values> {
  /** The variable at fault. */
  variable: keyof Values & string;
  /** Returns a sentence with the variable, the problem and the remedy; undefined if there is no problem. */
  fault: (values: Values) => string | undefined;
}

/** Name of the account of live calls that the variables describe, and of the pool for calls that no other is for. */
export const DEFAULT_ACCOUNT = 'default';
/** Name of the account of test calls. */
export const TEST_ACCOUNT = 'test';

/** Number of calls per second that a carrier account may place. */
export const callRate = z.union([z.literal('unlimited'), z.coerce.number().min(0.1)]);

/** The id of an account at Twilio or at the simulated carrier. */
export const carrierAccountId = z
  .string()
  .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 digits 0 to 9 or a to f, in lower case');

/** Variables of the carrier of live calls, whichever it is. */
export const liveCarrierVariables = {
  CARRIER_FROM_NUMBER: z
    .string()
    .regex(/^\+[1-9]\d{1,14}$/)
    .optional()
    .meta({ description: 'number to call from if neither the agent nor the account has one', production: '' }),
  CARRIER_BASE_URL: z
    .url()
    .optional()
    .meta({ description: 'base URL of the carrier’s REST interface', shown: 'Twilio’s' }),
  CARRIER_ACCOUNTS_FILE: z.string().optional().meta({
    description:
      'JSON file with [further accounts of live keys](carrier.md#several-accounts) at this carrier and with pools of accounts, read by every role when it starts',
    shown: 'none: one account',
  }),
  CARRIER_CALLS_PER_SECOND: callRate.optional().meta({
    description:
      'calls per second that the carrier account of live keys may place. Accounts share them fairly, an account that rarely places calls goes first, and further calls wait up to 60 s',
    shown: 'Twilio: `1`, simulator: `unlimited`',
    production: '1',
  }),
};
export type LiveCarrierVariables = z.infer<z.ZodObject<typeof liveCarrierVariables>>;

export function pace(rate: z.infer<typeof callRate> | undefined): Pick<CarrierAccount, 'callsPerSecond'> {
  return rate === undefined || rate === 'unlimited' ? {} : { callsPerSecond: rate };
}
