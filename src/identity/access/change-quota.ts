import type { Mode } from '../../kernel/ids.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Route } from '../../platform/http/contract/route.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { consume, createLimiter } from '../../platform/http/rate-limit.js';
import type { IdentityDatabase } from '../database.js';
import type { Principal } from './principal.js';

const DAY_SECONDS = 24 * 3_600;
/** Changes of an account in one mode within 24 hours, by its keys and, apart, by its members. */
const CHANGES_PER_DAY = 2_000;
const CHANGES_PER_DAY_UNVERIFIED = 200;

export type ChangeQuota = ReturnType<typeof createChangeQuota>;

/**
 * Bounds the entries of the audit log, of which none is ever pushed out by others: once an account has changed so much, further
 * changes are refused. What takes something away is neither refused nor counted: it was counted when it was made, and who finds a
 * stolen key must be able to revoke it. Keys and members are counted apart, so that a stolen key keeps no member from a change.
 */
export function createChangeQuota(database: IdentityDatabase) {
  const limiter = createLimiter(database, { points: CHANGES_PER_DAY, duration: DAY_SECONDS });

  const isCounted = ({ method, changes, bounded }: Route) =>
    (method === 'post' || method === 'patch') && changes !== 'self' && !bounded;
  const keyOf = ({ account, actor }: Principal, mode: Mode) => `changes:${account._id}:${mode}:${actor.kind}`;

  return {
    /** @throws ServiceError RATE_LIMIT_EXCEEDED when the account has used up its changes */
    async admit(ctx: ApiContext, principal: Principal, route: Route, mode: Mode): Promise<void> {
      if (!isCounted(route)) return;
      const state = await within(deadlineOf(ctx), limiter.get(keyOf(principal, mode)));
      const limit = principal.account.unverified ? CHANGES_PER_DAY_UNVERIFIED : CHANGES_PER_DAY;
      if (state === null || state.consumedPoints < limit) return;
      ctx.set('Retry-After', String(Math.max(1, Math.ceil(state.msBeforeNext / 1_000))));
      throw new ServiceError(
        'RATE_LIMIT_EXCEEDED',
        `The account’s ${principal.actor.kind}s have made ${limit} changes in ${mode} mode within 24 hours. Please wait before the next one.`,
      );
    },

    /** Counts a change that was made. Never rejects: the change stands. */
    async count(principal: Principal, route: Route, mode: Mode): Promise<void> {
      if (!isCounted(route)) return;
      await consume(limiter, keyOf(principal, mode)).catch(() => undefined);
    },
  };
}
