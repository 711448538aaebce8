import { DEFAULT_ACCOUNT, type CarrierAccount } from './account.js';

type Checked = Pick<CarrierAccount, 'name' | 'carrierAccountId' | 'authToken' | 'otherAuthToken'>;
interface NamedPool {
  name: string;
  accounts: readonly string[];
  prefixes: readonly string[];
}

/**
 * Finds names, ids and tokens that two accounts have. A stream names no account, so only the token shows which account
 * signed its request.
 * @param configured the accounts of the environment variables
 */
export function faultsBetweenAccounts(accounts: readonly Checked[], configured: readonly Checked[]): string[] {
  return accounts.flatMap((account, index) => {
    const place = `accounts.${index}`;
    const others = [...configured, ...accounts.slice(0, index)];
    const tokens = tokensOf(account);
    const sharesToken = others.some((other) => tokensOf(other).some((token) => tokens.includes(token)));
    return [
      ...(others.some(({ name }) => name === account.name) ? [`${place}.name is that of an earlier account`] : []),
      ...(others.some(({ carrierAccountId }) => carrierAccountId === account.carrierAccountId)
        ? [`${place}.account_sid is that of another account`]
        : []),
      ...(sharesToken ? [`${place}.auth_token is that of another account: each account needs its own`] : []),
    ];
  });
}

/**
 * Finds pools with the name or a prefix of an earlier pool, with an unknown account, or that would give calls of any customer to
 * an account that has only some. Some of those may know its token, with which calls are reported.
 */
export function faultsOfPools(
  pools: readonly NamedPool[],
  accounts: readonly Pick<CarrierAccount, 'name' | 'customers'>[],
): string[] {
  const known = new Set([DEFAULT_ACCOUNT, ...accounts.map(({ name }) => name)]);
  const limited = new Set(accounts.flatMap((account) => (account.customers === undefined ? [] : [account.name])));
  const prefixes = new Set<string>();
  return pools.flatMap(({ name, accounts: members, prefixes: given }, index) => {
    const place = `pools.${index}`;
    const faults = pools.slice(0, index).some((earlier) => earlier.name === name)
      ? [`${place}.name is that of an earlier pool`]
      : [];
    const isForAll = name === DEFAULT_ACCOUNT || given.length > 0;
    for (const member of members) {
      if (!known.has(member)) faults.push(`${place}.accounts must name accounts of the file or ${DEFAULT_ACCOUNT}`);
      if (isForAll && limited.has(member))
        faults.push(`${place}.accounts names ${member}, which has customers; only a pool without prefixes may have it`);
    }
    if (new Set(members).size < members.length) faults.push(`${place}.accounts names an account twice`);
    for (const prefix of given) {
      if (prefixes.has(prefix))
        faults.push(`${place}.prefixes has +${prefix}, which another pool has or which is there twice`);
      prefixes.add(prefix);
    }
    return faults;
  });
}

function tokensOf({ authToken, otherAuthToken }: Checked): string[] {
  return [authToken, otherAuthToken].filter((token) => token !== undefined && token !== '') as string[];
}
