import type { Mode } from '../../kernel/ids.js';
import type { IdentityDatabase } from '../database.js';
import { pepperIdOf } from './api-key-secret.js';
import { isInForce } from './in-force.js';
import type { ApiKeyDocument } from './model.js';

/** Reads API keys, which contain no secrets. */
export function createApiKeyQueries({ accounts, apiKeys }: Pick<IdentityDatabase, 'accounts' | 'apiKeys'>) {
  const hasAnyOf = async (peppers: readonly string[]) =>
    (await apiKeys.exists({ pepperId: { $in: peppers.map(pepperIdOf) } })) !== null;

  const findLatest = (field: 'lastUsedAt' | 'createdAt') =>
    apiKeys
      .findOne({ pepperId: { $type: 'string' } })
      .sort({ [field]: -1 })
      .lean<ApiKeyDocument>()
      .exec();

  return {
    /** Whether there is a key with one of these peppers. */
    hasAnyOf,

    /** Whether a key is still valid and its account exists. This does not count as a use of the key. */
    async isInForce(keyId: string): Promise<boolean> {
      const key = await apiKeys.findOne({ keyId }).lean<ApiKeyDocument>();
      if (!isInForce(key)) return false;
      return (await accounts.exists({ _id: key.accountId })) !== null;
    },

    list(accountId: string): Promise<ApiKeyDocument[]> {
      return apiKeys.find({ accountId }).sort({ createdAt: 1, keyId: 1 }).lean<ApiKeyDocument[]>().exec();
    },

    /** Finds a key of this account and mode; null if there is none. */
    find(p: { accountId: string; mode: Mode; keyId: string }): Promise<ApiKeyDocument | null> {
      return apiKeys.findOne(p).lean<ApiKeyDocument>().exec();
    },

    /** Lists the keys in force of all accounts that were not used since this pepper is in use. */
    async listOfOtherPeppers(pepperId: string): Promise<ApiKeyDocument[]> {
      const others = await apiKeys
        .find({ revokedAt: null, pepperId: { $ne: pepperId } })
        .sort({ accountId: 1, keyId: 1 })
        .lean<ApiKeyDocument[]>()
        .exec();
      return others.filter(isInForce);
    },

    /**
     * Whether the service with these keys has one of these peppers. The key that it used or made last decides, because keys
     * that are not used keep the name of a former pepper. True if there is no key yet.
     */
    async areOfPeppers(peppers: readonly string[]): Promise<boolean> {
      const latest = [await findLatest('lastUsedAt'), await findLatest('createdAt')]
        .filter((key) => key !== null)
        .toSorted((a, b) => lastTimeOf(b) - lastTimeOf(a))[0];
      return latest === undefined || peppers.map(pepperIdOf).includes(latest.pepperId ?? '');
    },

    /**
     * Counts the valid keys of the account and mode.
     * @param of.madeBy `members`: count no keys that were created by other keys
     */
    countActive(p: { accountId: string; mode: Mode }, of: { madeBy?: 'members' } = {}): Promise<number> {
      return apiKeys
        .find({ ...p, revokedAt: null, ...(of.madeBy === undefined ? {} : { ancestors: null }) }, { expiresAt: 1 })
        .lean<ApiKeyDocument[]>()
        .then((found) => found.filter(isInForce).length);
    },
  };
}

const lastTimeOf = ({ lastUsedAt, createdAt }: ApiKeyDocument) => (lastUsedAt ?? createdAt).getTime();
