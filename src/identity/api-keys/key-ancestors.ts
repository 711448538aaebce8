import { ServiceError } from '../../kernel/errors.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiKeyDocument } from './model.js';

/** Keys that expire later than a time, or never. */
export const expiringAfter = (time: Date) => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: time } }] });

/**
 * Ends a new key no later than its ancestors. Call this after the key was stored: if an ancestor is revoked or its
 * expiry shortened while the key is created, the change may miss the new key, but then this sees the change.
 * @returns the key with the expiry in force
 * @throws ServiceError UNAUTHORIZED after revoking the key, because an ancestor was revoked
 */
export async function endWithAncestors(
  { apiKeys, credentials }: Pick<IdentityDatabase, 'apiKeys' | 'credentials'>,
  key: ApiKeyDocument,
): Promise<ApiKeyDocument> {
  const { _id, accountId, ancestors = [] } = key;
  if (ancestors.length === 0) return key;
  const found = await apiKeys
    .find({ accountId, keyId: { $in: ancestors } }, { expiresAt: 1, revokedAt: 1 })
    .lean<Pick<ApiKeyDocument, 'expiresAt' | 'revokedAt'>[]>();
  const revoked = found.find(({ revokedAt }) => revokedAt);
  if (revoked) {
    const { revokedAt } = revoked;
    await credentials.change(() => apiKeys.updateOne({ _id, revokedAt: null }, { $set: { revokedAt } }).exec());
    throw new ServiceError('UNAUTHORIZED', 'The API key is no longer valid. Use another key, or log in again.');
  }
  const [earliest] = found.flatMap(({ expiresAt }) => expiresAt ?? []).toSorted((a, b) => a.getTime() - b.getTime());
  if (earliest === undefined || (key.expiresAt && key.expiresAt.getTime() <= earliest.getTime())) return key;
  const shorten = () =>
    apiKeys.updateOne({ _id, ...expiringAfter(earliest) }, { $set: { expiresAt: earliest } }).exec();
  await credentials.change(shorten);
  return { ...key, expiresAt: earliest };
}
