import type { Mode } from '../../kernel/ids.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** Reads API keys, without their secrets. */
export function createApiKeyQueries({ accounts, apiKeys }: Pick<IdentityDatabase, 'accounts' | 'apiKeys'>) {
  return {
    /** Whether a key that was good once still is, and its account is there. It does not count as a use. */
    async isInForce(keyId: string): Promise<boolean> {
      const key = await apiKeys.findOne({ keyId }).lean<ApiKeyDocument>();
      if (!key || key.revokedAt || (key.expiresAt && key.expiresAt.getTime() <= Date.now())) return false;
      return (await accounts.exists({ _id: key.accountId })) !== null;
    },

    list(accountId: string): Promise<ApiKeyDocument[]> {
      return apiKeys.find({ accountId }).sort({ createdAt: 1, keyId: 1 }).lean<ApiKeyDocument[]>().exec();
    },

    /** A key of the account and mode; null for any other. */
    find(p: { accountId: string; mode: Mode; keyId: string }): Promise<ApiKeyDocument | null> {
      return apiKeys.findOne(p).lean<ApiKeyDocument>().exec();
    },

    /**
     * How many keys of the account and mode are in force.
     * @param of.madeBy `members`: without those that keys have made
     */
    countActive(p: { accountId: string; mode: Mode }, of: { madeBy?: 'members' } = {}): Promise<number> {
      return apiKeys
        .find({ ...p, revokedAt: null, ...(of.madeBy === undefined ? {} : { ancestors: null }) }, { expiresAt: 1 })
        .lean<ApiKeyDocument[]>()
        .then((found) => found.filter(({ expiresAt }) => !expiresAt || expiresAt.getTime() > Date.now()).length);
    },
  };
}
