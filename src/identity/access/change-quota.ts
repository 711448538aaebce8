import type { Mode } from '../../kernel/ids.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Route } from '../../platform/http/contract/route.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { consume, createLimiter } from '../../platform/http/rate-limit.js';
import type { IdentityDatabase } from '../database.js';
import type { Principal } from './principal.js';

const DAY_SECONDS = 24 * 3_600;
/** Changes per account within 24 hours, 1,000 in total. Keys have more because scripts make more changes. */
const CHANGES_PER_DAY: Readonly<Record<Principal['actor']['kind'], Readonly<Record<Mode, number>>>> = {
  key: { live: 400, test: 300 },
  member: { live: 200, test: 100 },
};
/** Upper bound of each limit above until the owner's e-mail address is verified. */
const MOST_UNVERIFIED = 50;

export type ChangeQuota = ReturnType<typeof createChangeQuota>;

/**
 * Limits the growth of the audit log, whose entries are never evicted: above the limit, further changes are rejected.
 * Deletions and revocations are neither limited nor counted: the creation was counted, and a stolen key must always be
 * revocable. Keys and members are counted separately, and so are modes, so that a stolen key cannot block members, nor
 * a test key live ones.
 */
export function createChangeQuota(database: IdentityDatabase) {
  // Only counts; `admit` compares with the limit of the actor and mode.
  const limiter = createLimiter(database, { points: Number.MAX_SAFE_INTEGER, duration: DAY_SECONDS });

  const isCounted = ({ method, changes, bounded }: Route) =>
    (method === 'post' || method === 'patch') && changes !== 'self' && !bounded;
  const keyOf = ({ account, actor }: Principal, mode: Mode) => `changes:${account._id}:${mode}:${actor.kind}`;

  return {
    /** @throws ServiceError RATE_LIMIT_EXCEEDED if the account has used up its changes */
    async admit(ctx: ApiContext, principal: Principal, route: Route, mode: Mode): Promise<void> {
      if (!isCounted(route)) return;
      const state = await within(deadlineOf(ctx), limiter.get(keyOf(principal, mode)));
      const { account, actor } = principal;
      const most = CHANGES_PER_DAY[actor.kind][mode];
      const limit = account.unverified ? Math.min(most, MOST_UNVERIFIED) : most;
      if (state === null || state.consumedPoints < limit) return;
      const message =
        `The account’s ${actor.kind}s have made ${limit} changes in ${mode} mode within 24 hours. ` +
        'Try again when Retry-After says; what deletes or revokes is still possible.';
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
