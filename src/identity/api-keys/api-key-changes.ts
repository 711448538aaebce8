import { expiryInPast, keyNotFound } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { checkedName, updateOf } from '../accounts/accounts.js';
import type { IdentityDatabase } from '../database.js';
import { expiringAfter } from './key-ancestors.js';
import type { ApiKeyDocument } from './model.js';

const EXPIRY_CHANGED = 'Another request has just changed the expiry of this key. Read the key and try again.';

/** Changes and revokes API keys, together with the keys that they created. */
export function createApiKeyChanges({ apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>) {
  return {
    /**
     * Renames a key or changes its expiry (null: never). Keys that were created by this key expire no later.
     * @param ifExpiry changes the expiry only if it is still this one, so that a key's own request cannot undo a
     * shortening that it has not seen
     * @throws ServiceError MISSING_PARAMS, NOT_FOUND, CONFLICT if the expiry of a revoked key is to change, or another
     * request has changed the expiry
     */
    async update(
      keyId: string,
      changes: { name?: string; expiresAt?: Date | null },
      ifExpiry?: Pick<ApiKeyDocument, 'expiresAt'>,
    ): Promise<ApiKeyDocument> {
      const { name, expiresAt } = changes;
      if (expiresAt && !(expiresAt.getTime() > Date.now())) {
        throw expiryInPast();
      }
      const given = { ...(name === undefined ? {} : { name: checkedName(name) }), expiresAt };
      const inForce = expiresAt === undefined ? {} : { revokedAt: null, ...(ifExpiry && sameExpiry(ifExpiry)) };
      const updated = await credentials.change(async () => {
        const key = await apiKeys
          .findOneAndUpdate({ keyId, ...inForce }, updateOf(given), { returnDocument: 'after' })
          .lean<ApiKeyDocument>();
        if (key && expiresAt) {
          const descendants = { accountId: key.accountId, ancestors: keyId };
          await apiKeys.updateMany({ ...descendants, ...expiringAfter(expiresAt) }, { $set: { expiresAt } });
        }
        return key;
      });
      if (updated) return updated;
      if (await apiKeys.exists({ keyId, revokedAt: null })) throw new ServiceError('CONFLICT', EXPIRY_CHANGED);
      if (await apiKeys.exists({ keyId })) throw new ServiceError('CONFLICT', 'This key has been revoked.');
      throw keyNotFound();
    },

    /** Reverts an update, unless the expiry has been changed again since. */
    async restore({ keyId, name, expiresAt }: ApiKeyDocument, updated: ApiKeyDocument): Promise<void> {
      const before = updateOf({ name, expiresAt: expiresAt ?? null });
      await credentials.change(() => apiKeys.updateOne({ keyId, ...sameExpiry(updated) }, before).exec());
    },

    /**
     * Revokes a key, the keys it created, the keys they created, and so on. Repeating it keeps the first revocation
     * time.
     * @throws ServiceError NOT_FOUND
     */
    async revoke(keyId: string): Promise<ApiKeyDocument> {
      const revoked = { $set: { revokedAt: new Date() } };
      return credentials.change(async () => {
        await apiKeys.updateOne({ keyId, revokedAt: null }, revoked);
        const key = await apiKeys.findOne({ keyId }).lean<ApiKeyDocument>();
        if (!key) throw keyNotFound();
        await apiKeys.updateMany({ accountId: key.accountId, ancestors: keyId, revokedAt: null }, revoked);
        return key;
      });
    },
  };
}

const sameExpiry = ({ expiresAt }: Pick<ApiKeyDocument, 'expiresAt'>) => ({ expiresAt: expiresAt ?? null });
