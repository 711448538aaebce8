import { expiryInPast, keyNotFound } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { checkedName, updateOf } from '../accounts/accounts.js';
import type { IdentityDatabase } from '../database.js';
import { ignoreWrites, type OnWrite } from '../../platform/mongo/writes.js';
import { endWithAncestors, expiringAfter } from './key-ancestors.js';
import type { ApiKeyDocument } from './model.js';

const EXPIRY_CHANGED = 'Another request has just changed the expiry of this key. Read the key and try again.';

/** A key after an update, and what was there before. */
export interface UpdatedKey {
  key: ApiKeyDocument;
  before: ApiKeyDocument;
  /** The keys that it created and that expire earlier now, as they were. */
  shortened: ApiKeyDocument[];
}

/** Changes and revokes API keys, together with the keys that they created. */
export function createApiKeyChanges({ apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>) {
  /** Returns the keys that it shortened, each as it was just before. */
  async function shortenDescendants({ accountId, keyId }: ApiKeyDocument, expiresAt: Date): Promise<ApiKeyDocument[]> {
    const later = { accountId, ancestors: keyId, revokedAt: null, ...expiringAfter(expiresAt) };
    const shortened: ApiKeyDocument[] = [];
    for (;;) {
      const before = await apiKeys.findOneAndUpdate(later, { $set: { expiresAt } }).lean<ApiKeyDocument>();
      if (before === null) return shortened;
      shortened.push(before);
    }
  }

  return {
    /**
     * Renames a key or changes its expiry (null: never). Keys that were created by this key expire no later.
     * @returns the key, and what {@link restore} needs
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
    ): Promise<UpdatedKey> {
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
        const isChanged = before !== null && !isAsGiven(before, given);
        const shortened = before && expiresAt ? await shortenDescendants(before, expiresAt) : [];
        return { before, shortened, isWritten: isChanged || shortened.length > 0 };
      }, isUnwritten);
      const { before, shortened, isWritten } = updated;
      if (isWritten) write();
      if (before) return { key: withChanges(before, given), before, shortened };
      if (await apiKeys.exists({ keyId, revokedAt: null })) throw new ServiceError('CONFLICT', EXPIRY_CHANGED);
      if (await apiKeys.exists({ keyId })) throw new ServiceError('CONFLICT', 'This key has been revoked.');
      throw keyNotFound();
    },

    /** Reverts an update of a key and of the keys that it created, unless its expiry has been changed again since. */
    async restore({ key, before, shortened }: UpdatedKey): Promise<void> {
      const revert = ({ keyId }: ApiKeyDocument, to: Record<string, unknown>) =>
        apiKeys.updateOne({ keyId, ...sameExpiry(key) }, updateOf(to)).exec();
      await credentials.change(async () => {
        const own = await revert(key, { name: before.name, expiresAt: before.expiresAt ?? null });
        if (own.matchedCount === 0) return;
        for (const one of shortened) await revert(one, { expiresAt: one.expiresAt ?? null });
        // Keys that it created meanwhile may expire as late as the update allowed.
        if (before.expiresAt) await shortenDescendants(before, before.expiresAt);
      });
      // An ancestor may have been shortened or revoked meanwhile.
      for (const one of [before, ...shortened])
        await endWithAncestors({ apiKeys, credentials }, one).catch(ignoreRevocation);
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

function ignoreRevocation(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'UNAUTHORIZED') throw error;
}

/** Whether nothing was written, also because there is no such key: no process has it. */
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
