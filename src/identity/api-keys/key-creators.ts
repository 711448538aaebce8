import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** A member and their account. */
export interface KeyCreator {
  accountId: string;
  userId: string;
}

export type KeyCreators = ReturnType<typeof createKeyCreators>;

/** Finds the API keys that a member created, directly or through another key. */
export function createKeyCreators({ apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>) {
  const madeBy = ({ accountId, userId }: KeyCreator) => ({ accountId, madeByUser: userId, revokedAt: null });
  return {
    /** @returns the number of valid keys that the member created, directly or through another key */
    countActive: (maker: KeyCreator): Promise<number> =>
      apiKeys
        .countDocuments({ ...madeBy(maker), $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date() } }] })
        .exec(),

    /**
     * Revokes all keys that the member created, directly or through another key; safe to repeat.
     * @returns the keys that were not revoked before
     */
    async revokeAll(maker: KeyCreator): Promise<ApiKeyDocument[]> {
      const ended = await apiKeys.find(madeBy(maker)).lean<ApiKeyDocument[]>();
      const revoked = { $set: { revokedAt: new Date() } };
      await credentials.change(
        () => apiKeys.updateMany(madeBy(maker), revoked).exec(),
        ({ modifiedCount }) => modifiedCount === 0,
      );
      return ended;
    },
  };
}
