import { createHash, randomBytes } from 'node:crypto';
import type { Mode } from '../../../kernel/ids.js';

/** Credentials of one mode's account at the simulated carrier. */
export interface SimulatedAccount {
  carrierAccountId: string;
  authToken: string;
  /**
   * True if no token is configured. Then `authToken` is random and unused until the deployment's token is read from
   * MongoDB.
   */
  unsettled?: true;
  /** The account id, if one is configured without a token. */
  configuredId?: string | undefined;
}

/** The variables that the accounts are read from. Those of other carriers must have other values. */
export interface SimulatedAccountVariables {
  NODE_ENV: string;
  SIMULATOR_ACCOUNT_SID?: string | undefined;
  SIMULATOR_AUTH_TOKEN?: string | undefined;
  SIMULATOR_TEST_ACCOUNT_SID?: string | undefined;
  SIMULATOR_TEST_AUTH_TOKEN?: string | undefined;
  TWILIO_ACCOUNT_SID?: string | undefined;
  TWILIO_AUTH_TOKEN?: string | undefined;
}

/** Development credentials. They are in the source code, so production rejects them. */
const PUBLISHED: Readonly<Record<Mode, SimulatedAccount>> = {
  live: { carrierAccountId: 'AC00000000000000000000000000000001', authToken: '11111111111111111111111111111111' },
  test: { carrierAccountId: 'AC00000000000000000000000000000002', authToken: '22222222222222222222222222222222' },
};
const PUBLISHED_VALUES = new Set(
  Object.values(PUBLISHED).flatMap(({ carrierAccountId, authToken }) => [carrierAccountId, authToken]),
);

/** Whether this token or account id is one of those in the source code. */
export function isPublished(value: string | undefined): boolean {
  return value !== undefined && PUBLISHED_VALUES.has(value);
}

/** Returns the simulated carrier's account for a mode. In production, a random token replaces a missing one. */
export function simulatedAccount(mode: Mode, values: SimulatedAccountVariables): SimulatedAccount {
  const { carrierAccountId, authToken } = givenAccount(mode, values);
  if (values.NODE_ENV !== 'production') {
    return {
      carrierAccountId: carrierAccountId ?? PUBLISHED[mode].carrierAccountId,
      authToken: authToken ?? PUBLISHED[mode].authToken,
    };
  }
  if (authToken !== undefined) return accountWith(mode, authToken, carrierAccountId);
  return { ...accountWith(mode, newToken(), carrierAccountId), unsettled: true, configuredId: carrierAccountId };
}

/**
 * Returns the account with a token. Without a given account id, derives it from the token, so that only the token is
 * stored.
 */
export function accountWith(mode: Mode, authToken: string, carrierAccountId?: string): SimulatedAccount {
  const digest = createHash('sha256').update(`account\n${mode}\n${authToken}`).digest('hex');
  return { carrierAccountId: carrierAccountId ?? `AC${digest.slice(0, 32)}`, authToken };
}

/** Creates a random token of 32 hexadecimal digits, the format of Twilio's tokens. */
export function newToken(): string {
  return randomBytes(16).toString('hex');
}

/** Returns a sentence that says why production rejects a mode's token; undefined if it is acceptable or absent. */
export function tokenFault(mode: Mode, values: SimulatedAccountVariables): string | undefined {
  const { authToken } = givenAccount(mode, values);
  const name = mode === 'live' ? 'SIMULATOR_AUTH_TOKEN' : 'SIMULATOR_TEST_AUTH_TOKEN';
  if (authToken === undefined) return undefined;
  const remedy = 'leave it empty to have one generated, or set the output of openssl rand -hex 16';
  if (PUBLISHED_VALUES.has(authToken)) return `${name} must not be a published one in production: ${remedy}.`;
  const others = mode === 'test' ? [values.SIMULATOR_AUTH_TOKEN, values.TWILIO_AUTH_TOKEN] : [];
  if (others.includes(authToken)) return `${name} must differ from the token of the live account: ${remedy}.`;
  return undefined;
}

/** Returns a sentence that says why production rejects a mode's account id; undefined if it is acceptable or absent. */
export function accountIdFault(mode: Mode, values: SimulatedAccountVariables): string | undefined {
  const { carrierAccountId } = givenAccount(mode, values);
  const name = mode === 'live' ? 'SIMULATOR_ACCOUNT_SID' : 'SIMULATOR_TEST_ACCOUNT_SID';
  if (carrierAccountId === undefined) return undefined;
  if (PUBLISHED_VALUES.has(carrierAccountId)) {
    return `${name} must not be a published one in production: leave it empty to have one generated.`;
  }
  const others = mode === 'test' ? [values.SIMULATOR_ACCOUNT_SID, values.TWILIO_ACCOUNT_SID] : [];
  if (others.includes(carrierAccountId))
    return `${name} must differ from the live account: leave it empty to have one generated.`;
  return undefined;
}

function givenAccount(
  mode: Mode,
  values: SimulatedAccountVariables,
): { carrierAccountId?: string | undefined; authToken?: string | undefined } {
  return mode === 'live'
    ? { carrierAccountId: values.SIMULATOR_ACCOUNT_SID, authToken: values.SIMULATOR_AUTH_TOKEN }
    : { carrierAccountId: values.SIMULATOR_TEST_ACCOUNT_SID, authToken: values.SIMULATOR_TEST_AUTH_TOKEN };
}
