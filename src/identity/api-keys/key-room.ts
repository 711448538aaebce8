import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** Of a mode, those out of force included: so many rows are listed. The latter make room for new ones. */
export const MOST_KEYS = 500;

/**
 * Removes keys that are out of force where there are too many: first those that keys have made, so that a leaked one drives out
 * its own only.
 * @returns whether there is room for another
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
