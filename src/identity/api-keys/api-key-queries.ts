import type { Mode } from '../../kernel/ids.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** Reads API keys, which contain no secrets. */
export function createApiKeyQueries({ accounts, apiKeys }: Pick<IdentityDatabase, 'accounts' | 'apiKeys'>) {
  return {
    /** Whether a key is still valid and its account exists. This does not count as a use of the key. */
    async isInForce(keyId: string): Promise<boolean> {
      const key = await apiKeys.findOne({ keyId }).lean<ApiKeyDocument>();
      if (!key || key.revokedAt || (key.expiresAt && key.expiresAt.getTime() <= Date.now())) return false;
      return (await accounts.exists({ _id: key.accountId })) !== null;
    },

    list(accountId: string): Promise<ApiKeyDocument[]> {
      return apiKeys.find({ accountId }).sort({ createdAt: 1, keyId: 1 }).lean<ApiKeyDocument[]>().exec();
    },

    /** Finds a key of this account and mode; null if there is none. */
    find(p: { accountId: string; mode: Mode; keyId: string }): Promise<ApiKeyDocument | null> {
      return apiKeys.findOne(p).lean<ApiKeyDocument>().exec();
    },

    /**
     * Counts the valid keys of the account and mode.
     * @param of.madeBy `members`: count no keys that were created by other keys
     */
    countActive(p: { accountId: string; mode: Mode }, of: { madeBy?: 'members' } = {}): Promise<number> {
      return apiKeys
        .find({ ...p, revokedAt: null, ...(of.madeBy === undefined ? {} : { ancestors: null }) }, { expiresAt: 1 })
        .lean<ApiKeyDocument[]>()
        .then((found) => found.filter(({ expiresAt }) => !expiresAt || expiresAt.getTime() > Date.now()).length);
    },
  };
}
