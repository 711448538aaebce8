import type { Mode } from '../../kernel/ids.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { CountedChange, Route } from '../../platform/http/contract/route.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { consume, createLimiterPerLimit } from '../../platform/http/rate-limits/rate-limit.js';
import type { IdentityDatabase } from '../database.js';
import type { Principal } from './principal.js';

const DAY_SECONDS = 24 * 3_600;
/**
 * Maximum that the keys and the members of an account may make within 24 hours: 1,000 changes and 1,600 calls with drafts
 * in total. Keys may make more changes than members, because scripts change more. Calls with drafts are counted
 * separately, because trying an agent takes many calls, which must not use up the changes.
 */
const PER_DAY: Readonly<Record<CountedChange, Readonly<Record<Principal['actor']['kind'], Record<Mode, number>>>>> = {
  changes: { key: { live: 400, test: 300 }, member: { live: 200, test: 100 } },
  drafts: { key: { live: 400, test: 400 }, member: { live: 400, test: 400 } },
};
/** Maximum of each kind by keys, and by members, in each mode until the owner's e-mail address is verified. */
const MAX_UNVERIFIED = 50;

const TEXTS: Readonly<Record<CountedChange, (mode: Mode) => string>> = {
  changes: (mode) =>
    `changes in ${mode} mode within 24 hours. Retry after Retry-After seconds; deletions and revocations are still possible.`,
  drafts: (mode) =>
    `calls with drafts of agents in ${mode} mode within 24 hours. Retry after Retry-After seconds, or save the agent and send its agent_id without agent.`,
};

export type ChangeQuota = ReturnType<typeof createChangeQuota>;

/**
 * Limits the growth of the audit log, from which live entries are never removed. Above the limit, further changes are
 * rejected. Deletions and revocations are neither limited nor counted, because their creation was counted, and a stolen
 * key must always be revocable. Changes are counted separately for keys and members, so that a stolen key cannot block
 * members, and per mode, so that a test key cannot block live ones. Calls with drafts are counted separately from
 * changes.
 */
export function createChangeQuota(database: IdentityDatabase) {
  const limiterOf = createLimiterPerLimit(database, DAY_SECONDS);

  const isCounted = ({ method, changes, bounded }: Route) =>
    (method === 'post' || method === 'patch') && changes !== 'self' && !bounded;
  const keyOf = ({ account, actor }: Principal, mode: Mode, counted: CountedChange) =>
    `${counted}:${account._id}:${mode}:${actor.kind}`;

  /** Counts a change at the limiter. @returns the outcome, and when the 24 hours end, in ms since the epoch */
  async function take(limit: number, key: string) {
    const { allowed, state } = await consume(limiterOf(limit), key);
    return { allowed, endsAt: Date.now() + state.msBeforeNext };
  }

  return {
    /**
     * Counts a change before it is made, in one update, so that a burst of requests cannot exceed the limit.
     * @returns takes the change off the count if it was not made; it does not wait and never throws
     * @throws ServiceError RATE_LIMIT_EXCEEDED if the account has used up its changes, SERVICE_UNAVAILABLE
     */
    async reserve(ctx: ApiContext, principal: Principal, route: Route, mode: Mode): Promise<() => void> {
      if (!isCounted(route)) return () => undefined;
      const { account, actor } = principal;
      const counted = route.counts ?? 'changes';
      const most = PER_DAY[counted][actor.kind][mode];
      const limit = account.unverified ? Math.min(most, MAX_UNVERIFIED) : most;
      const key = keyOf(principal, mode, counted);
      const taking = take(limit, key);
      const withdraw = async () => {
        const { allowed, endsAt } = await taking;
        // When the 24 hours are over, the count starts again without this change.
        if (allowed && Date.now() < endsAt) await limiterOf(limit).reward(key);
      };
      const release = () => void withdraw().catch(() => undefined);
      const outcome = await withDeadline(deadlineOf(ctx), taking).catch((error: unknown) => {
        release();
        throw error;
      });
      if (outcome.allowed) return release;
      const message = `The account’s ${actor.kind}s have made ${limit} ${TEXTS[counted](mode)}`;
      const seconds = Math.max(1, Math.ceil((outcome.endsAt - Date.now()) / 1_000));
      throw new ServiceError('RATE_LIMIT_EXCEEDED', message, { limit }, seconds);
    },
  };
}
