import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/**
 * Maximum keys per account and mode that are stored and listed, including invalid ones, which are deleted to make room.
 */
export const MOST_KEYS = 500;

/**
 * Deletes invalid keys if there are too many. Starts with keys created by other keys, so that a leaked key displaces
 * only its own.
 * @returns whether there is room for another key
 */
export async function makeRoomForKey(
  apiKeys: IdentityDatabase['apiKeys'],
  { accountId, mode }: Pick<ApiKeyDocument, 'accountId' | 'mode'>,
): Promise<boolean> {
  const excess = (await apiKeys.countDocuments({ accountId, mode })) - MOST_KEYS + 1;
  if (excess <= 0) return true;
  const outOfForce = { accountId, mode, $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: new Date() } }] };
  const ids: string[] = [];
  for (const ancestors of [{ $ne: null }, null]) {
    if (ids.length >= excess) break;
    const oldest = apiKeys.find({ ...outOfForce, ancestors }, { _id: 1 }).sort({ createdAt: 1, _id: 1 });
    ids.push(...(await oldest.limit(excess - ids.length).lean<{ _id: string }[]>()).map(({ _id }) => _id));
  }
  if (ids.length > 0) await apiKeys.deleteMany({ _id: { $in: ids } });
  return ids.length >= excess;
}
