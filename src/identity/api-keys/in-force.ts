import type { ApiKeyDocument } from './model.js';

/** Whether a key exists, and is neither revoked nor expired. */
export function isInForce<Key extends Pick<ApiKeyDocument, 'revokedAt' | 'expiresAt'>>(key: Key | null): key is Key {
  return key !== null && !key.revokedAt && !(key.expiresAt && key.expiresAt.getTime() <= Date.now());
}
