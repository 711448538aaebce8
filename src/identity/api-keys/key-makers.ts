import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

export interface KeyMaker {
  accountId: string;
  userId: string;
}

export type KeyMakers = ReturnType<typeof createKeyMakers>;

/** The API keys of an account by the member who made them, or made the key that made them. */
export function createKeyMakers({ apiKeys }: Pick<IdentityDatabase, 'apiKeys'>) {
  const madeBy = ({ accountId, userId }: KeyMaker) => ({ accountId, madeByUser: userId, revokedAt: null });
  return {
    /** @returns how many of them work */
    countActive: (maker: KeyMaker): Promise<number> =>
      apiKeys
        .countDocuments({ ...madeBy(maker), $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date() } }] })
        .exec(),

    /** Ends them all. May be repeated. @returns those that were not revoked before */
    async revokeAll(maker: KeyMaker): Promise<ApiKeyDocument[]> {
      const ended = await apiKeys.find(madeBy(maker)).lean<ApiKeyDocument[]>();
      await apiKeys.updateMany(madeBy(maker), { $set: { revokedAt: new Date() } });
      return ended;
    },
  };
}
