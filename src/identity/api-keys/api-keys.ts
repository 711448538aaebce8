import { ulid } from 'ulid';
import { accountNotFound, expiryInPast, limitReached } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { checkedName } from '../accounts/accounts.js';
import { createApiKeyChanges } from './api-key-changes.js';
import { createApiKeyQueries } from './api-key-queries.js';
import { endWithAncestors } from './key-ancestors.js';
import { makeRoomForKey, MAX_KEYS } from './key-limit.js';
import { hashSecret, isWellFormed, newSecret, pepperIdOf } from './api-key-secret.js';
import { isInForce } from './in-force.js';
import { findKey, type KeyPeppers } from './key-search.js';
import type { IdentityDatabase } from '../database.js';
import type { AccountDocument } from '../accounts/model.js';
import type { StoredCredential } from '../credentials/cached-credentials.js';
import type { ApiKeyDocument } from './model.js';

const LAST_USED_RESOLUTION_MS = 60_000;
const SHOWN_PREFIX_LENGTH = 12;
export type ApiKeys = ReturnType<typeof createApiKeys>;

/** A valid key and its account, without the account's webhook secrets. */
export type ValidApiKey = StoredCredential;

/**
 * Manages API keys. Only an HMAC of each key is stored. Valid keys are cached with their accounts; a revocation applies
 * at once in this process, and within a second in others.
 */
export function createApiKeys(deps: { database: IdentityDatabase } & KeyPeppers) {
  const { accounts, apiKeys, credentials } = deps.database;
  const { cache, idOf } = credentials;

  /**
   * Records a use but does not wait for the write, so that requests are not delayed. If it fails, the next use is
   * recorded a minute later.
   */
  function recordUse(key: ApiKeyDocument, now: number): void {
    if (key.lastUsedAt && now - key.lastUsedAt.getTime() < LAST_USED_RESOLUTION_MS) return;
    // A cached key is not read again for a while.
    key.lastUsedAt = new Date(now);
    const stale = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: new Date(now - LAST_USED_RESOLUTION_MS) } }] };
    apiKeys.updateOne({ _id: key._id, ...stale }, { $set: { lastUsedAt: new Date(now) } }).then(
      () => undefined,
      () => undefined,
    );
  }

  async function read(secret: string): Promise<StoredCredential | null> {
    const ticket = cache.beginRead();
    const key = await findKey(deps, secret, hashSecret(deps.pepper, secret));
    if (!isInForce(key)) return null;
    const account = await accounts.findOne({ _id: key.accountId }, { webhookSecrets: 0 }).lean<AccountDocument>();
    if (!account) return null;
    const found = { key, account };
    cache.add(idOf(secret), ticket, found);
    return found;
  }

  /** Returns the credential if it is in force, and records its use. */
  function used(found: StoredCredential): StoredCredential | null {
    if (!isInForce(found.key)) return null;
    recordUse(found.key, Date.now());
    return found;
  }

  return {
    ...createApiKeyQueries(deps.database),
    ...createApiKeyChanges(deps.database),

    /**
     * Creates a key. Its secret is returned here and stored nowhere.
     * @param p.madeBy the key that requests it; the new key expires no later than this one
     * @param p.madeByUser the member who requests it; with `madeBy`, ignored in favor of the member behind that key
     * @throws ServiceError MISSING_PARAMS for the name or the expiry, NOT_FOUND for the account, CONFLICT with too many
     * keys, UNAUTHORIZED if `madeBy` was revoked meanwhile
     */
    async create(p: {
      accountId: string;
      mode: Mode;
      name: string;
      expiresAt?: Date;
      madeBy?: ApiKeyDocument;
      madeByUser?: string;
    }): Promise<{ secret: string; key: ApiKeyDocument }> {
      const name = checkedName(p.name);
      if (p.expiresAt && !(p.expiresAt.getTime() > Date.now())) {
        throw expiryInPast();
      }
      if (!(await accounts.exists({ _id: p.accountId }))) {
        throw accountNotFound(p.accountId);
      }
      if (!(await makeRoomForKey(deps.database, p))) {
        throw new ServiceError(
          'CONFLICT',
          limitReached({ of: 'An account', most: MAX_KEYS, items: 'keys per mode', remedy: 'Revoke one first.' }),
        );
      }
      const secret = newSecret(p.mode);
      const madeByUser = p.madeBy ? p.madeBy.madeByUser : p.madeByUser;
      const key: ApiKeyDocument = {
        _id: hashSecret(deps.pepper, secret),
        keyId: `key_${ulid()}`,
        pepperId: pepperIdOf(deps.pepper),
        accountId: p.accountId,
        mode: p.mode,
        name,
        prefix: secret.slice(0, SHOWN_PREFIX_LENGTH),
        lastFour: secret.slice(-4),
        createdAt: new Date(),
        ...(p.madeBy ? { ancestors: [...(p.madeBy.ancestors ?? []), p.madeBy.keyId] } : {}),
        ...(madeByUser === undefined ? {} : { madeByUser }),
        ...(p.expiresAt ? { expiresAt: p.expiresAt } : {}),
      };
      await apiKeys.create([key]);
      return { secret, key: await endWithAncestors(deps.database, key) };
    },

    /**
     * Finds a valid key and its account in the cache; null for an expired key. Undefined if the database must be asked.
     * Neither reads nor waits.
     */
    findCached(secret: string): ValidApiKey | null | undefined {
      if (!isWellFormed(secret)) return null;
      const found = cache.find(idOf(secret));
      return found && used(found);
    },

    /** Finds a valid key and its account; null for anything else. Malformed secrets never reach the database. */
    async authenticate(secret: string): Promise<ValidApiKey | null> {
      if (typeof secret !== 'string' || !isWellFormed(secret)) return null;
      const found = cache.find(idOf(secret)) ?? (await read(secret));
      return found && used(found);
    },
  };
}
