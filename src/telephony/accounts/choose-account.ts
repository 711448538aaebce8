import { createHash } from 'node:crypto';
import type { CarrierAccount, CarrierAccounts, CarrierPool } from '../../platform/config/config.js';
import { DEFAULT_ACCOUNT } from '../../platform/config/config.js';

/** A phone number of a customer. Without `carrierAccount`, it belongs to the account `default`. */
export interface OwnNumber {
  _id: string;
  /** Name of the account. */
  carrierAccount?: string;
}

/** The number that a call comes from, and the account that may use the number. */
export interface CallOrigin {
  account: CarrierAccount;
  from: string;
}

/** A pool or account that a customer is assigned to, and that is not configured. */
export interface MissingOrigin {
  missing: 'pool' | 'account';
  name: string;
}

/**
 * Chooses the account and the number of a live outbound call. The agent's own number decides alone, because only its
 * account may use it. Otherwise the account is one of the pool: that of the customer's first number in the pool, or, without
 * such a number, one picked by its share of calls per second, with its own number.
 * @param p.pool name of the pool that the customer is assigned to; absent: the called number decides
 * @param p.agentNumber the number that the agent calls from
 * @param p.numbers the customer's numbers, oldest first
 * @param p.seed decides which account is picked: the same seed picks the same account
 */
export function chooseOrigin(
  accounts: Pick<CarrierAccounts, 'live' | 'further' | 'pools'>,
  p: {
    to: string;
    pool: string | undefined;
    agentNumber: OwnNumber | undefined;
    numbers: readonly OwnNumber[];
    seed: string;
  },
): CallOrigin | MissingOrigin {
  const named = (name: string) => [accounts.live, ...accounts.further].find((account) => account.name === name);
  const originOf = ({ _id: from, carrierAccount: name = DEFAULT_ACCOUNT }: OwnNumber) => {
    const account = named(name);
    return account === undefined ? { missing: 'account' as const, name } : { account, from };
  };
  if (p.agentNumber !== undefined) return originOf(p.agentNumber);
  const pool = findPool(accounts.pools, p);
  if (pool === undefined) return { missing: 'pool', name: p.pool ?? DEFAULT_ACCOUNT };
  const own = p.numbers.find(({ carrierAccount = DEFAULT_ACCOUNT }) => pool.accounts.includes(carrierAccount));
  if (own !== undefined) return originOf(own);
  const members = pool.accounts.flatMap((name) => named(name) ?? []);
  const account = pickByShare(members, p.seed);
  return account === undefined ? { missing: 'account', name: pool.name } : { account, from: account.fromNumber };
}

function findPool(
  pools: readonly CarrierPool[],
  { to, pool: assigned }: { to: string; pool: string | undefined },
): CarrierPool | undefined {
  if (assigned !== undefined) return pools.find(({ name }) => name === assigned);
  const digits = to.replace(/^\+/, '');
  const lengthIn = ({ prefixes }: CarrierPool) =>
    Math.max(0, ...prefixes.filter((prefix) => digits.startsWith(prefix)).map(({ length }) => length));
  const [longest] = pools.filter((pool) => lengthIn(pool) > 0).toSorted((a, b) => lengthIn(b) - lengthIn(a));
  return longest ?? pools.find(({ name }) => name === DEFAULT_ACCOUNT);
}

/**
 * Picks an account with a probability by its calls per second (weighted rendezvous hashing). Accounts are equal if the
 * rate of one is unlimited.
 */
function pickByShare(accounts: readonly CarrierAccount[], seed: string): CarrierAccount | undefined {
  const isUnlimited = accounts.some(({ callsPerSecond }) => callsPerSecond === undefined);
  const scoreOf = ({ carrierAccountId, callsPerSecond = 1 }: CarrierAccount) =>
    -Math.log(fractionOf(`${seed}\n${carrierAccountId}`)) / (isUnlimited ? 1 : callsPerSecond);
  return accounts.toSorted((a, b) => scoreOf(a) - scoreOf(b))[0];
}

/** Returns a number above 0 and below 1 that the text determines. */
function fractionOf(text: string): number {
  return (createHash('sha256').update(text).digest().readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
