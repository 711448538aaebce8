import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** A member and their account. */
export interface KeyMaker {
  accountId: string;
  userId: string;
}

export type KeyMakers = ReturnType<typeof createKeyMakers>;

/** The API keys that a member created, directly or through another key. */
export function createKeyMakers({ apiKeys }: Pick<IdentityDatabase, 'apiKeys'>) {
  const madeBy = ({ accountId, userId }: KeyMaker) => ({ accountId, madeByUser: userId, revokedAt: null });
  return {
    /** @returns the number of valid keys */
    countActive: (maker: KeyMaker): Promise<number> =>
      apiKeys
        .countDocuments({ ...madeBy(maker), $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date() } }] })
        .exec(),

    /** Revokes them all; safe to repeat. @returns the keys that were not revoked before */
    async revokeAll(maker: KeyMaker): Promise<ApiKeyDocument[]> {
      const ended = await apiKeys.find(madeBy(maker)).lean<ApiKeyDocument[]>();
      await apiKeys.updateMany(madeBy(maker), { $set: { revokedAt: new Date() } });
      return ended;
    },
  };
}
