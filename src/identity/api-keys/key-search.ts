import type { Config } from '../../platform/config/config.js';
import type { IdentityDatabase } from '../database.js';
import { hashSecret, pepperIdOf } from './api-key-secret.js';
import type { ApiKeyDocument } from './model.js';

export interface KeyPeppers {
  /** Hashes new keys. */
  pepper: string;
  /** Other peppers under which keys may have been made. */
  formerPeppers?: readonly string[];
}

interface KeySearchDeps extends KeyPeppers {
  database: Pick<IdentityDatabase, 'apiKeys'>;
}

export function keyPeppersOf({ apiKeyPepper: pepper, formerPeppers }: Config): KeyPeppers {
  return { pepper, formerPeppers };
}

/** Two peppers are in use while the pepper changes. */
const KEPT_HASHES = 2;

/**
 * Finds a key by its secret. If it was made under another pepper, stores its hash under the pepper, so that the other one
 * can be removed.
 * @param hash of the secret under the pepper
 */
export async function findKey(deps: KeySearchDeps, secret: string, hash: string): Promise<ApiKeyDocument | null> {
  const pepperId = pepperIdOf(deps.pepper);
  const known = await findByHash(deps, hash);
  if (known !== null) {
    // While the pepper changes, a process that was not restarted yet stores the other one.
    if (known.pepperId !== pepperId) await deps.database.apiKeys.updateOne({ _id: known._id }, { $set: { pepperId } });
    return known;
  }
  for (const former of deps.formerPeppers ?? []) {
    const found = await findByHash(deps, hashSecret(former, secret));
    if (found === null) continue;
    // The hash before stays: until they are restarted, other processes and requests in progress look for it.
    // Builds of 0.3.0 before its release stored a single one, as a text.
    const rehashed = [...[found.rehashed ?? []].flat(), hash].slice(-KEPT_HASHES);
    await deps.database.apiKeys.updateOne({ _id: found._id }, { $set: { rehashed, pepperId } });
    return found;
  }
  return null;
}

/** The hash is the id of a key unless the key was made under another pepper. */
async function findByHash({ database }: KeySearchDeps, hash: string): Promise<ApiKeyDocument | null> {
  return (
    (await database.apiKeys.findOne({ _id: hash }).lean<ApiKeyDocument>()) ??
    (await database.apiKeys.findOne({ rehashed: hash }).lean<ApiKeyDocument>())
  );
}
