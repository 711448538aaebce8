import type { ApiKey } from '../accounts/schemas.js';
import type { apiKeyRoutes } from './contract.js';
import { keyNotFound, limitReached } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiKeys } from './api-keys.js';
import type { ApiKeyDocument } from './model.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { recheckAfter } from '../../platform/http/recheck-after.js';
import { createWrites } from '../../platform/mongo/writes.js';
import { respond } from '../../platform/http/routing/response.js';
import { wholeList } from '../../platform/http/lists.js';

const MAX_ACTIVE_KEYS = 100;

/** Creates the handlers for API keys. A key of one mode neither sees nor creates keys of the other mode. */
export function createApiKeyHandlers({ apiKeys }: { apiKeys: ApiKeys }): RouteHandlers<typeof apiKeyRoutes> {
  /** @throws ServiceError NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, keyId: string): Promise<ApiKeyDocument> {
    const key = await withDeadline(deadlineOf(ctx), apiKeys.find({ accountId: account._id, mode, keyId }));
    if (!key) throw keyNotFound();
    return key;
  }

  /** Returns the key that sent the request; undefined for a member. @throws ServiceError NOT_FOUND */
  async function askingKey(ctx: ApiContext, principal: Principal): Promise<ApiKeyDocument | undefined> {
    return principal.actor.kind === 'key' ? find(ctx, principal, principal.actor.keyId) : undefined;
  }

  return {
    async listApiKeys({ ctx, principal: { account, mode } }) {
      const keys = await withDeadline(deadlineOf(ctx), apiKeys.list(account._id));
      return wholeList(
        keys
          .filter((key) => key.mode === mode)
          .map((key) => keyView(key))
          .toReversed(),
      );
    },

    async createApiKey({ ctx, principal, body: { name, expires_at: expiry } }) {
      const { account, mode } = principal;
      const owner = { accountId: account._id, mode };
      const madeBy = await askingKey(ctx, principal);
      // For a request by a member, count only keys created by members, so that a stolen key cannot block members.
      const counted = madeBy ? {} : { madeBy: 'members' as const };
      if ((await withDeadline(deadlineOf(ctx), apiKeys.countActive(owner, counted))) >= MAX_ACTIVE_KEYS) {
        throw new ServiceError(
          'CONFLICT',
          limitReached({
            of: 'An account',
            most: MAX_ACTIVE_KEYS,
            items: 'active keys per mode',
            remedy: 'Revoke one first.',
          }),
        );
      }
      const expiresAt = futureTime(expiry) ?? madeBy?.expiresAt;
      assertExpiryAllowed(madeBy, expiresAt);
      const made = apiKeys.create({
        ...owner,
        name,
        ...(expiresAt ? { expiresAt } : {}),
        ...(madeBy ? { madeBy } : {}),
        ...(principal.actor.kind === 'member' ? { madeByUser: principal.actor.userId } : {}),
      });
      const kept = recheckAfter(ctx, made, ({ key }) => apiKeys.revoke(key.keyId));
      const { key, secret } = await withDeadline(deadlineOf(ctx), kept);
      return respond({ ...keyView(key), secret }, { target: key.keyId });
    },

    async updateApiKey({ ctx, principal, params: { key_id: keyId }, body }) {
      const { name, expires_at: expiry } = body;
      const expiresAt = futureTime(expiry);
      const before = await find(ctx, principal, keyId);
      const asking = expiresAt === undefined ? undefined : await askingKey(ctx, principal);
      assertExpiryAllowed(asking, expiresAt ?? undefined);
      // Every change makes all processes read their keys again. An expiry is set even if it is the same: the request may repeat
      // one that not all processes have noticed.
      const isSame = expiresAt === undefined && (name === undefined || name === before.name);
      if (isSame) return respond(keyView(before), { unchanged: true });
      const changes = { ...(name === undefined ? {} : { name }), ...(expiresAt === undefined ? {} : { expiresAt }) };
      const writes = createWrites();
      const on = { write: writes.add, ...(asking && { ifExpiry: before }) };
      const updating = apiKeys.update(keyId, changes, on);
      const updated = recheckAfter(ctx, updating, (made) => apiKeys.restore(made));
      const { key } = await withDeadline(deadlineOf(ctx), updated);
      return respond(keyView(key), { unchanged: writes.isNone() });
    },

    async revokeApiKey({ ctx, principal, params: { key_id: keyId } }) {
      await find(ctx, principal, keyId);
      const writes = createWrites();
      const key = await withDeadline(deadlineOf(ctx), apiKeys.revoke(keyId, writes.add));
      return respond(keyView(key), { unchanged: writes.isNone() });
    },
  };
}

/** @throws ServiceError MISSING_PARAMS */
function futureTime<T extends null | undefined>(text: string | T): Date | T {
  if (typeof text !== 'string') return text;
  const at = new Date(text);
  if (at.getTime() > Date.now()) return at;
  const fault = 'expires_at must be in the future.';
  throw new ServiceError('MISSING_PARAMS', fault, { fields: { expires_at: fault } });
}

/**
 * Requires that a key with an expiry sets no later expiry for any key, including itself. Otherwise the thief of a key
 * could keep access.
 * @throws ServiceError FORBIDDEN
 */
function assertExpiryAllowed(asking: ApiKeyDocument | undefined, expiresAt: Date | undefined): void {
  const end = asking?.expiresAt;
  if (end === undefined || (expiresAt !== undefined && expiresAt.getTime() <= end.getTime())) return;
  const fault = 'expires_at must not be later than the expiry of the API key in use.';
  throw new ServiceError('FORBIDDEN', `${fault} Use a key that expires later, or the portal.`);
}

function keyView(key: ApiKeyDocument): ApiKey {
  const expired = key.expiresAt !== undefined && key.expiresAt.getTime() <= Date.now();
  return {
    key_id: key.keyId,
    name: key.name,
    mode: key.mode,
    prefix: key.prefix,
    last_four: key.lastFour,
    state: key.revokedAt ? 'revoked' : expired ? 'expired' : 'active',
    created_at: key.createdAt.toISOString(),
    ...(key.madeByUser === undefined ? {} : { made_by: key.madeByUser }),
    ...(key.expiresAt ? { expires_at: key.expiresAt.toISOString() } : {}),
    ...(key.revokedAt ? { revoked_at: key.revokedAt.toISOString() } : {}),
    ...(key.lastUsedAt ? { last_used_at: key.lastUsedAt.toISOString() } : {}),
  };
}
