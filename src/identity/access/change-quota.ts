import type { Mode } from '../../kernel/ids.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Route } from '../../platform/http/contract/route.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { consume, createLimiter } from '../../platform/http/rate-limit.js';
import type { IdentityDatabase } from '../database.js';
import type { Principal } from './principal.js';

const DAY_SECONDS = 24 * 3_600;
/**
 * Maximum changes that the keys and the members of an account may make within 24 hours, 1,000 in total. Keys may make
 * more than members, because scripts change more.
 */
const CHANGES_PER_DAY: Readonly<Record<Principal['actor']['kind'], Readonly<Record<Mode, number>>>> = {
  key: { live: 400, test: 300 },
  member: { live: 200, test: 100 },
};
/** Maximum changes by keys, and by members, in each mode until the owner's e-mail address is verified. */
const MAX_UNVERIFIED = 50;

export type ChangeQuota = ReturnType<typeof createChangeQuota>;

/**
 * Limits the growth of the audit log, from which live entries are never removed. Above the limit, further changes are
 * rejected. Deletions and revocations are neither limited nor counted, because their creation was counted, and a stolen
 * key must always be revocable. Changes are counted separately for keys and members, so that a stolen key cannot block
 * members, and per mode, so that a test key cannot block live ones.
 */
export function createChangeQuota(database: IdentityDatabase) {
  // The limiter only counts. `admit` compares the count with the limit of the actor and mode.
  const limiter = createLimiter(database, { points: Number.MAX_SAFE_INTEGER, duration: DAY_SECONDS });

  const isCounted = ({ method, changes, bounded }: Route) =>
    (method === 'post' || method === 'patch') && changes !== 'self' && !bounded;
  const keyOf = ({ account, actor }: Principal, mode: Mode) => `changes:${account._id}:${mode}:${actor.kind}`;

  return {
    /** @throws ServiceError RATE_LIMIT_EXCEEDED if the account has used up its changes */
    async admit(ctx: ApiContext, principal: Principal, route: Route, mode: Mode): Promise<void> {
      if (!isCounted(route)) return;
      const state = await withDeadline(deadlineOf(ctx), limiter.get(keyOf(principal, mode)));
      const { account, actor } = principal;
      const most = CHANGES_PER_DAY[actor.kind][mode];
      const limit = account.unverified ? Math.min(most, MAX_UNVERIFIED) : most;
      if (state === null || state.consumedPoints < limit) return;
      const message =
        `The account’s ${actor.kind}s have made ${limit} changes in ${mode} mode within 24 hours. ` +
        'Retry after Retry-After seconds; deletions and revocations are still possible.';
      const seconds = Math.max(1, Math.ceil(state.msBeforeNext / 1_000));
      throw new ServiceError('RATE_LIMIT_EXCEEDED', message, { limit }, seconds);
    },

    /** Counts a change. Never rejects, because the change has already been made. */
    async count(principal: Principal, route: Route, mode: Mode): Promise<void> {
      if (!isCounted(route)) return;
      await consume(limiter, keyOf(principal, mode)).catch(() => undefined);
    },
  };
}
