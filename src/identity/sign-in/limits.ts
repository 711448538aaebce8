import { createHash } from 'node:crypto';
import type { RateLimiterMongo } from 'rate-limiter-flexible';
import type { Config } from '../../platform/config/config.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiContext } from '../../platform/http/context.js';
import { consume, createLimiter, limitExceeded } from '../../platform/http/rate-limit.js';
import { clientAddress } from '../../platform/http/security.js';
import { createDelays, delayAfter, LONGEST_DELAY_MS } from './delays.js';

const LOG_INS = { points: 5, duration: 15 * 60 };
/** Of one network address, whichever e-mail addresses it tries; people behind one address are many. */
const LOG_INS_OF_ADDRESS = { points: 60, duration: 15 * 60 };
/** Of one e-mail address, whatever network addresses the tries come from; they are delayed, never refused. */
const FAILURES = { points: 1_000_000_000, duration: 15 * 60 };
const OPENINGS = { points: 10, duration: 3_600 };
/** Requests for links, and uses of them, of one network address. */
const LINKS = { points: 20, duration: 15 * 60 };
const DAY_SECONDS = 24 * 3_600;
const INVITATIONS = {
  ofAccount: { points: 50, duration: DAY_SECONDS },
  toAddress: { points: 10, duration: DAY_SECONDS },
  toAddressOfAccount: { points: 3, duration: DAY_SECONDS },
};

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/** How often one may try passwords and open accounts; counted in the database, in memory while it is away. */
export function createPortalLimits({ config, database }: { config: Config; database: IdentityDatabase }) {
  const logIns = createLimiter(database, LOG_INS);
  const ofAddress = createLimiter(database, LOG_INS_OF_ADDRESS);
  const failures = createLimiter(database, FAILURES);
  const delays = createDelays();
  const openings = createLimiter(database, OPENINGS);
  const links = createLimiter(database, LINKS);
  const invitations = createLimiter(database, INVITATIONS.ofAccount);
  const invitationsTo = createLimiter(database, INVITATIONS.toAddress);
  const invitationsOfAccountTo = createLimiter(database, INVITATIONS.toAddressOfAccount);

  /** @returns how often it was counted in the period, this time included */
  async function count(ctx: ApiContext, of: RateLimiterMongo, key: string): Promise<number> {
    const { allowed, state } = await consume(of, key);
    if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
    return state.consumedPoints;
  }

  return {
    /**
     * Checks a password as often, and as fast, as one may try. A try is counted before, so that no burst slips through; an
     * error costs none of the tries of the network address. The right password of the e-mail address's holder forgets the
     * tries before it; that of an unverified sign-up does not, since strangers can sign up with any address.
     * @param check undefined when the password is wrong
     * @throws ServiceError RATE_LIMIT_EXCEEDED, or what `check` throws
     */
    async tryPassword<T extends { unverified?: true }>(
      ctx: ApiContext,
      email: string,
      check: () => Promise<T | undefined>,
    ): Promise<T | undefined> {
      const address = clientAddress(ctx, config);
      const keys = {
        address: `log-ins:${address}`,
        both: keyOf('log-in', email, address),
        email: keyOf('failures', email),
      };
      // Failures of the e-mail address are never taken back: after they were forgotten, that would give tries for free.
      const takeBack = () => Promise.all([logIns.reward(keys.both), ofAddress.reward(keys.address)]);
      await count(ctx, ofAddress, keys.address);
      await count(ctx, logIns, keys.both);
      const { state } = await consume(failures, keys.email);
      try {
        const hasWaited = await delays.wait({ email: keys.email, address }, delayAfter(state.consumedPoints - 1));
        if (!hasWaited) throw limitExceeded(ctx, LONGEST_DELAY_MS / 1_000);
        const found = await check();
        if (found === undefined) return undefined;
        if (found.unverified) await takeBack();
        else await Promise.all([logIns.delete(keys.both), failures.delete(keys.email), ofAddress.reward(keys.address)]);
        return found;
      } catch (error) {
        await takeBack();
        throw error;
      }
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED when the account, or everybody together for this address, invites too often */
    async countInvitation(ctx: ApiContext, { accountId, email }: { accountId: string; email: string }): Promise<void> {
      await count(ctx, invitationsOfAccountTo, keyOf('invitation', accountId, email));
      await count(ctx, invitationsTo, keyOf('invitation', email));
      await count(ctx, invitations, keyOf('invitations', accountId));
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countLink(ctx: ApiContext): Promise<void> {
      await count(ctx, links, `links:${clientAddress(ctx, config)}`);
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countOpening(ctx: ApiContext): Promise<void> {
      await count(ctx, openings, `opening:${clientAddress(ctx, config)}`);
    },
  };
}

/** Hashed, so that the table of counters is no list of e-mail addresses. */
function keyOf(kind: string, ...of: string[]): string {
  return `${kind}:${createHash('sha256').update(of.join('\n')).digest('base64url')}`;
}
