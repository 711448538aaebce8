import type { IdentityDatabase } from '../database.js';

export type LostAccess = ReturnType<typeof createLostAccess>;

/** Finds keys and members that have lost their access to an account. */
export function createLostAccess({
  apiKeys,
  users,
  unverifiedUsers,
}: Pick<IdentityDatabase, 'apiKeys' | 'users' | 'unverifiedUsers'>) {
  return {
    /**
     * Returns those of the ids that belong to a revoked key or a removed member. An expired key has not lost its access in this
     * sense: its end was planned, and what it has begun may end as usual.
     * @param ids of keys (`keyId`) and members
     */
    async among(ids: readonly string[]): Promise<Set<string>> {
      const given = { $in: [...new Set(ids)] };
      const keys = await apiKeys.find({ keyId: given, revokedAt: null }, { keyId: 1 }).lean<{ keyId: string }[]>();
      // In this order, because a verified member moves from the one to the other.
      const unverified = await unverifiedUsers.find({ _id: given }, { _id: 1 }).lean<{ _id: string }[]>();
      const verified = await users.find({ _id: given }, { _id: 1 }).lean<{ _id: string }[]>();
      const lost = new Set(ids);
      for (const { keyId } of keys) lost.delete(keyId);
      for (const { _id } of [...unverified, ...verified]) lost.delete(_id);
      return lost;
    },
  };
}
