import { ulid } from 'ulid';
import { accountNotFound, expiryInPast, limitReached } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { checkedName } from '../accounts/accounts.js';
import { createApiKeyChanges } from './api-key-changes.js';
import { createApiKeyQueries } from './api-key-queries.js';
import { endWithAncestors } from './key-ancestors.js';
import { makeRoomForKey, MAX_KEYS } from './key-limit.js';
import { hashSecret, isWellFormed, newSecret } from './api-key-secret.js';
import type { IdentityDatabase } from '../database.js';
import type { AccountDocument } from '../accounts/model.js';
import type { ApiKeyDocument } from './model.js';

const LAST_USED_RESOLUTION_MS = 60_000;
const SHOWN_PREFIX_LENGTH = 12;
export type ApiKeys = ReturnType<typeof createApiKeys>;

/** A valid key and its account. */
export interface ValidApiKey {
  key: ApiKeyDocument;
  account: AccountDocument;
}

/**
 * Manages API keys. Only an HMAC of each key is stored. Nothing is cached, so a revocation applies to the next request.
 */
export function createApiKeys(deps: { database: IdentityDatabase; pepper: string }) {
  const { accounts, apiKeys } = deps.database;

  /**
   * Records a use but does not wait for the write, so that requests are not delayed. If it fails, the next use is
   * recorded.
   */
  function recordUse(key: ApiKeyDocument, now: number): void {
    if (key.lastUsedAt && now - key.lastUsedAt.getTime() < LAST_USED_RESOLUTION_MS) return;
    const stale = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: new Date(now - LAST_USED_RESOLUTION_MS) } }] };
    apiKeys.updateOne({ _id: key._id, ...stale }, { $set: { lastUsedAt: new Date(now) } }).then(
      () => undefined,
      () => undefined,
    );
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
      if (!(await makeRoomForKey(apiKeys, p))) {
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
      return { secret, key: await endWithAncestors(apiKeys, key) };
    },

    /** Finds a valid key and its account; null for anything else. Malformed secrets never reach the database. */
    async authenticate(secret: string): Promise<ValidApiKey | null> {
      if (typeof secret !== 'string' || !isWellFormed(secret)) return null;
      const key = await apiKeys.findOne({ _id: hashSecret(deps.pepper, secret) }).lean<ApiKeyDocument>();
      const now = Date.now();
      if (!key || key.revokedAt || (key.expiresAt && key.expiresAt.getTime() <= now)) return null;
      const account = await accounts.findOne({ _id: key.accountId }).lean<AccountDocument>();
      if (!account) return null;
      recordUse(key, now);
      return { key, account };
    },
  };
}
