import { expiryInPast, keyNotFound } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { checkedName, updateOf } from '../accounts/accounts.js';
import type { IdentityDatabase } from '../database.js';
import { ignoreWrites, type OnWrite } from '../../platform/mongo/writes.js';
import { expiringAfter } from './key-ancestors.js';
import type { ApiKeyDocument } from './model.js';

const EXPIRY_CHANGED = 'Another request has just changed the expiry of this key. Read the key and try again.';

/** Changes and revokes API keys, together with the keys that they created. */
export function createApiKeyChanges({ apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>) {
  return {
    /**
     * Renames a key or changes its expiry (null: never). Keys that were created by this key expire no later.
     * @param on.ifExpiry changes the expiry only if it is still this one, so that a key's own request cannot undo a
     * shortening that it has not seen
     * @param on.write called unless the key was as wanted already
     * @throws ServiceError MISSING_PARAMS, NOT_FOUND, CONFLICT if the expiry of a revoked key is to change, or another
     * request has changed the expiry
     */
    async update(
      keyId: string,
      changes: { name?: string; expiresAt?: Date | null },
      { ifExpiry, write = ignoreWrites }: { ifExpiry?: Pick<ApiKeyDocument, 'expiresAt'>; write?: OnWrite } = {},
    ): Promise<ApiKeyDocument> {
      const { name, expiresAt } = changes;
      if (expiresAt && !(expiresAt.getTime() > Date.now())) {
        throw expiryInPast();
      }
      const given = { ...(name === undefined ? {} : { name: checkedName(name) }), expiresAt };
      const inForce = expiresAt === undefined ? {} : { revokedAt: null, ...(ifExpiry && sameExpiry(ifExpiry)) };
      const updated = await credentials.change(async () => {
        const before = await apiKeys
          .findOneAndUpdate({ keyId, ...inForce }, updateOf(given), { returnDocument: 'before' })
          .lean<ApiKeyDocument>();
        let isWritten = before !== null && !isAsGiven(before, given);
        if (before && expiresAt) {
          const descendants = { accountId: before.accountId, ancestors: keyId, ...expiringAfter(expiresAt) };
          isWritten = (await apiKeys.updateMany(descendants, { $set: { expiresAt } })).modifiedCount > 0 || isWritten;
        }
        return { before, isWritten };
      }, isUnwritten);
      if (updated.isWritten) write();
      if (updated.before) return withChanges(updated.before, given);
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
     * @param onWrite called unless all of them were revoked already
     * @throws ServiceError NOT_FOUND
     */
    async revoke(keyId: string, onWrite: OnWrite = ignoreWrites): Promise<ApiKeyDocument> {
      const revoked = { $set: { revokedAt: new Date() } };
      const { key, isWritten } = await credentials.change(async () => {
        const own = await apiKeys.updateOne({ keyId, revokedAt: null }, revoked);
        const found = await apiKeys.findOne({ keyId }).lean<ApiKeyDocument>();
        if (!found) throw keyNotFound();
        const descendants = { accountId: found.accountId, ancestors: keyId, revokedAt: null };
        const others = await apiKeys.updateMany(descendants, revoked);
        return { key: found, isWritten: own.modifiedCount + others.modifiedCount > 0 };
      }, isUnwritten);
      if (isWritten) onWrite();
      return key;
    },
  };
}

/** Also if there is no such key, because then no process has it. */
const isUnwritten = ({ isWritten }: { isWritten: boolean }) => !isWritten;

/** Changes of a key; null removes the expiry, an absent one stays. */
interface GivenChanges {
  name?: string;
  expiresAt?: Date | null | undefined;
}

function withChanges(key: ApiKeyDocument, { name = key.name, expiresAt }: GivenChanges): ApiKeyDocument {
  const { expiresAt: before, ...others } = key;
  const after = expiresAt === undefined ? before : expiresAt;
  return { ...others, name, ...(after ? { expiresAt: after } : {}) };
}

function isAsGiven(key: ApiKeyDocument, given: GivenChanges): boolean {
  const after = withChanges(key, given);
  return after.name === key.name && after.expiresAt?.getTime() === key.expiresAt?.getTime();
}

const sameExpiry = ({ expiresAt }: Pick<ApiKeyDocument, 'expiresAt'>) => ({ expiresAt: expiresAt ?? null });
