import { z } from 'zod';
import { urlFrom } from '../../../kernel/text.js';
import { readConfigFile } from '../files/read-file.js';
import { callRate, carrierAccountId, DEFAULT_ACCOUNT, pace, TEST_ACCOUNT, type CarrierAccount } from './account.js';
import { faultsBetweenAccounts, faultsOfPools } from './account-checks.js';
import { readSecretField } from './secret-fields.js';

const VARIABLE = 'CARRIER_ACCOUNTS_FILE';
const MAX_BYTES = 1_048_576;
/** A label of metrics has one value for each. */
const MAX_ACCOUNTS = 100;
const MAX_POOLS = 100;
const MAX_PREFIXES = 1_000;
const MAX_CUSTOMERS = 1_000;

/** Accounts that share calls. */
export interface CarrierPool {
  name: string;
  /** Names of accounts. */
  accounts: readonly string[];
  /** Digits with which the called numbers begin whose calls the pool is for, without a plus sign. */
  prefixes: readonly string[];
}

/** The name of an account or pool. */
export const carrierName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits and hyphens');

const secret = z.string().min(1).optional();
const accountEntry = z
  .strictObject({
    name: carrierName.refine((name) => name !== DEFAULT_ACCOUNT && name !== TEST_ACCOUNT, {
      error: `must not be ${DEFAULT_ACCOUNT} or ${TEST_ACCOUNT}, the accounts of the environment variables`,
    }),
    account_sid: carrierAccountId,
    auth_token: secret,
    auth_token_file: secret,
    other_auth_token: secret,
    other_auth_token_file: secret,
    api_key_sid: z
      .string()
      .regex(/^SK[0-9a-f]{32}$/, 'must be SK and 32 digits 0 to 9 or a to f, in lower case')
      .optional(),
    api_key_secret: secret,
    api_key_secret_file: secret,
    from_number: z.string().regex(/^\+[1-9]\d{1,14}$/, 'must be a number of the account like +442071838750'),
    calls_per_second: callRate.optional(),
    base_url: z.url().optional(),
    customers: z
      .array(z.string().regex(/^acct_\w{1,64}$/, 'must be the id of an account of Callwright'))
      .min(1, 'must name a customer')
      .max(MAX_CUSTOMERS)
      .optional(),
  })
  .refine((entry) => (entry.api_key_sid === undefined) === !hasApiSecret(entry), {
    error: 'needs both api_key_sid and api_key_secret, or neither',
  });
type AccountEntry = z.infer<typeof accountEntry>;

const poolEntry = z.strictObject({
  name: carrierName,
  accounts: z.array(z.string()).min(1, 'must name an account').max(MAX_ACCOUNTS),
  prefixes: z
    .array(z.string().regex(/^\+?[1-9]\d{0,14}$/, 'must be the beginning of E.164 numbers, like +44'))
    .max(MAX_PREFIXES)
    .default([]),
});

const accountsFile = z.strictObject({
  accounts: z.array(accountEntry).max(MAX_ACCOUNTS),
  pools: z.array(poolEntry).max(MAX_POOLS).default([]),
});

/** An account of the file, before it is known at which carrier it is. */
export type FurtherAccount = Omit<CarrierAccount, 'kind' | 'isSimulated'>;

interface Terms {
  /** The accounts that the environment variables describe. */
  configured: readonly CarrierAccount[];
  production: boolean;
  baseUrl: string;
  tokenFault: (token: string) => string | undefined;
  callsPerSecond: number | undefined;
}

/**
 * Reads the further accounts and the pools once, at start-up; changes to the file apply after a restart.
 * @param file absent: there are no further accounts, and one pool with the account `default`
 * @throws Error that names the variable, the file, and each fault with its place; it contains no secret
 */
export function readCarrierAccounts(
  file: string | undefined,
  terms: Terms,
): { accounts: FurtherAccount[]; pools: CarrierPool[] } {
  if (file === undefined) return { accounts: [], pools: withDefaultPool([]) };
  const invalid = (faults: readonly string[]) => new Error(`${VARIABLE}: ${file} is not valid: ${faults.join('; ')}.`);
  const parsed = accountsFile.safeParse(parseJson(readConfigFile(VARIABLE, file, MAX_BYTES)));
  if (!parsed.success) throw invalid(parsed.error.issues.map(({ path, message }) => `${placeOf(path)} ${message}`));
  const faults: string[] = [];
  const accounts = parsed.data.accounts.map((entry, index) => accountOf(entry, `accounts.${index}`, terms, faults));
  const pools = parsed.data.pools.map((pool) => ({
    ...pool,
    prefixes: pool.prefixes.map((prefix) => prefix.replace('+', '')),
  }));
  faults.push(...faultsBetweenAccounts(accounts, terms.configured), ...faultsOfPools(pools, accounts));
  if (faults.length > 0) throw invalid(faults);
  return { accounts, pools: withDefaultPool(pools) };
}

function withDefaultPool(pools: readonly CarrierPool[]): CarrierPool[] {
  const given = pools.some(({ name }) => name === DEFAULT_ACCOUNT);
  return given ? [...pools] : [...pools, { name: DEFAULT_ACCOUNT, accounts: [DEFAULT_ACCOUNT], prefixes: [] }];
}

/** @param faults receives what is wrong with the entry */
function accountOf(entry: AccountEntry, place: string, terms: Terms, faults: string[]): FurtherAccount {
  const readSecret = (field: 'auth_token' | 'other_auth_token' | 'api_key_secret') => {
    const read = readSecretField(entry[field], entry[`${field}_file`], `${place}.${field}`);
    if ('fault' in read) faults.push(read.fault);
    return 'fault' in read ? undefined : read.secret;
  };
  const [authToken, otherAuthToken, apiSecret] = [
    readSecret('auth_token'),
    readSecret('other_auth_token'),
    readSecret('api_key_secret'),
  ];
  const hasToken = entry.auth_token !== undefined || entry.auth_token_file !== undefined;
  if (!hasToken) faults.push(`${place} needs auth_token or auth_token_file, with which the carrier signs its requests`);
  if (terms.production) {
    faults.push(...tokenFaults({ auth_token: authToken, other_auth_token: otherAuthToken }, place, terms));
    faults.push(...urlFaults(entry.base_url, place));
  }
  const { api_key_sid: sid } = entry;
  return {
    name: entry.name,
    carrierAccountId: entry.account_sid,
    authToken: authToken ?? '',
    ...(otherAuthToken === undefined ? {} : { otherAuthToken }),
    baseUrl: entry.base_url ?? terms.baseUrl,
    fromNumber: entry.from_number,
    ...pace(entry.calls_per_second ?? terms.callsPerSecond),
    ...(entry.customers === undefined ? {} : { customers: entry.customers }),
    ...(sid === undefined || apiSecret === undefined ? {} : { apiKey: { sid, secret: apiSecret } }),
  };
}

function hasApiSecret({ api_key_secret: text, api_key_secret_file: file }: Record<string, unknown>): boolean {
  return text !== undefined || file !== undefined;
}

function tokenFaults(tokens: Record<string, string | undefined>, place: string, { tokenFault }: Terms): string[] {
  return Object.entries(tokens).flatMap(([field, token]) => {
    const fault = token === undefined ? undefined : tokenFault(token);
    return fault === undefined ? [] : [`${place}.${field} ${fault}`];
  });
}

/** As production requires it of CARRIER_BASE_URL. */
function urlFaults(address: string | undefined, place: string): string[] {
  const url = address === undefined ? undefined : urlFrom(address);
  if (url === undefined) return [];
  const isBare = url.username + url.password === '' && !/[?#]/.test(String(address));
  return url.protocol === 'https:' && isBare
    ? []
    : [`${place}.base_url must use https, without user name, password, query or fragment`];
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the file' : path.map(String).join('.');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's own message quotes the text, which may contain a secret.
    return undefined;
  }
}
