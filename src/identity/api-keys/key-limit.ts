import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/**
 * Maximum keys per account and mode that are stored and listed. Invalid keys count, too, and are deleted to make room.
 */
export const MAX_KEYS = 500;

/**
 * Deletes revoked and expired keys if there are too many: first keys that were created with another key, then keys that
 * members created. So a thief who creates and revokes many keys with a stolen key does not displace members' keys.
 * @returns whether there is room for another key
 */
export async function makeRoomForKey(
  { apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>,
  { accountId, mode }: Pick<ApiKeyDocument, 'accountId' | 'mode'>,
): Promise<boolean> {
  const excess = (await apiKeys.countDocuments({ accountId, mode })) - MAX_KEYS + 1;
  if (excess <= 0) return true;
  const outOfForce = { accountId, mode, $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: new Date() } }] };
  const ids: string[] = [];
  for (const ancestors of [{ $ne: null }, null]) {
    if (ids.length >= excess) break;
    const oldest = apiKeys.find({ ...outOfForce, ancestors }, { _id: 1 }).sort({ createdAt: 1, _id: 1 });
    ids.push(...(await oldest.limit(excess - ids.length).lean<{ _id: string }[]>()).map(({ _id }) => _id));
  }
  if (ids.length > 0) await credentials.change(() => apiKeys.deleteMany({ _id: { $in: ids } }).exec());
  return ids.length >= excess;
}
