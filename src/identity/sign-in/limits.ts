import { createHash } from 'node:crypto';
import type { RateLimiterMongo } from 'rate-limiter-flexible';
import type { Config } from '../../platform/config/config.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiContext } from '../../platform/http/context.js';
import { PasswordsBusyError } from '../people/passwords.js';
import { consume, createLimiter, limitExceeded } from '../../platform/http/rate-limit.js';
import { networksOf } from '../../platform/egress/client-address.js';
import { clientAddress } from '../../platform/http/security.js';
import { knownBrowserOf } from './known-browsers.js';
import { createDelays, delayAfter, LONGEST_DELAY_MS } from './delays.js';

const LOG_INS = { points: 5, duration: 15 * 60 };
/** Per network address, for all e-mail addresses, because many people may share one. */
const LOG_INS_OF_ADDRESS = { points: 60, duration: 15 * 60 };
/** Per e-mail address, from browsers known for it; above the limit their network address counts. */
const LOG_INS_OF_KNOWN = { points: 20, duration: 15 * 60 };
/** Per e-mail address, from all network addresses. Such attempts are delayed, never rejected. */
const FAILURES = { points: 1_000_000_000, duration: 15 * 60 };
/** Correct passwords per person and purpose, so that even their owner cannot cause endless hashes and sessions. */
const SUCCESSES = { points: 20, duration: 15 * 60 };
const OPENINGS = { points: 10, duration: 3_600 };
/** Per /48 of an IPv6 address: one customer of a provider may own all of its 65,536 /64s. */
const OPENINGS_OF_SITE = { points: 30, duration: 3_600 };
/** Requests for links, and uses of them, per network address. */
const LINKS = { points: 20, duration: 15 * 60 };
const DAY_SECONDS = 24 * 3_600;
const INVITATIONS = {
  ofAccount: { points: 50, duration: DAY_SECONDS },
  toAddress: { points: 10, duration: DAY_SECONDS },
  toAddressOfAccount: { points: 3, duration: DAY_SECONDS },
};

/** The purpose of a password check. */
type Way = 'logIn' | 'changePassword' | 'verifyEmail';

/** Counts a hash and passes its result on. */
type Counted = <R>(hash: Promise<R>) => Promise<R>;

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/**
 * Limits password attempts, sign-ups, links and invitations. Counts in the database, in memory while it is unavailable.
 */
export function createPortalLimits({ config, database }: { config: Config; database: IdentityDatabase }) {
  const logIns = createLimiter(database, LOG_INS);
  const ofAddress = createLimiter(database, LOG_INS_OF_ADDRESS);
  const ofKnown = createLimiter(database, LOG_INS_OF_KNOWN);
  const failures = createLimiter(database, FAILURES);
  const delays = createDelays();
  const successes = createLimiter(database, SUCCESSES);
  const openings = createLimiter(database, OPENINGS);
  const openingsOfSite = createLimiter(database, OPENINGS_OF_SITE);
  const links = createLimiter(database, LINKS);
  const invitations = createLimiter(database, INVITATIONS.ofAccount);
  const invitationsTo = createLimiter(database, INVITATIONS.toAddress);
  const invitationsOfAccountTo = createLimiter(database, INVITATIONS.toAddressOfAccount);

  /** @returns the count in the current period, including this one */
  async function count(ctx: ApiContext, of: RateLimiterMongo, key: string): Promise<number> {
    const { allowed, state } = await consume(of, key);
    if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
    return state.consumedPoints;
  }

  return {
    /**
     * Checks a password within the limits. Attempts are counted before the check, so that bursts cannot exceed them. An
     * error before the first hash starts is not counted against the network address; a later one is. A correct password
     * resets the attempts before it, 20 times in 15 minutes, unless the sign-up is unverified, since anyone can sign up
     * with any address. A known browser counts instead of its network address, for up to 20 attempts per e-mail address
     * in 15 minutes.
     * @param way what the password is for; successes are counted per purpose
     * @param check resolves to undefined if the password is wrong; passes every hash through `counted`
     * @throws ServiceError RATE_LIMIT_EXCEEDED, also for too many correct passwords, or what `check` throws
     */
    async tryPassword<T extends { _id: string; unverified?: true }>(
      ctx: ApiContext,
      way: Way,
      email: string,
      check: (counted: Counted) => Promise<T | undefined>,
    ): Promise<T | undefined> {
      const browser = knownBrowserOf(ctx, config, email);
      const ofEmail = keyOf('known-browsers', email);
      // Each log-in without the cookie issues a new one; the shared limit makes collecting them useless.
      const isKnown = browser !== undefined && (await consume(ofKnown, ofEmail)).allowed;
      const known = isKnown ? browser : undefined;
      const address = known === undefined ? clientAddress(ctx, config) : `known:${known}`;
      const keys = {
        address: `log-ins:${address}`,
        both: keyOf('log-in', email, address),
        email: keyOf('failures', email),
      };
      // Failures of the e-mail address are never refunded: after a reset, a refund would grant free attempts.
      const takeBackKnown = async () => (isKnown ? ofKnown.reward(ofEmail) : undefined);
      const takeBack = () => Promise.all([logIns.reward(keys.both), ofAddress.reward(keys.address), takeBackKnown()]);
      await count(ctx, ofAddress, keys.address);
      await count(ctx, logIns, keys.both);
      const { state } = await consume(failures, keys.email);
      const hashes = countHashes();
      try {
        const hasWaited = await delays.wait({ email: keys.email, address }, delayAfter(state.consumedPoints - 1));
        if (!hasWaited) throw limitExceeded(ctx, LONGEST_DELAY_MS / 1_000);
        const found = await check(hashes.counted);
        if (found === undefined) return undefined;
        // Above this limit the attempt stays counted, because it cost a hash.
        await count(ctx, successes, successesKey(way, found._id));
        if (found.unverified) await takeBack();
        else {
          const others = [failures.delete(keys.email), ofAddress.reward(keys.address), takeBackKnown()];
          await Promise.all([logIns.delete(keys.both), ...others]);
        }
        return found;
      } catch (error) {
        if (hashes.begun() === 0) await takeBack();
        throw error;
      }
    },

    /** Resets the log-in successes of a person, which an attacker with the old password may have used up. */
    async forgetLogIns(userId: string): Promise<void> {
      await successes.delete(successesKey('logIn', userId));
    },

    /**
     * @throws ServiceError RATE_LIMIT_EXCEEDED if the account, or all accounts together for this address, invite too
     *   often
     */
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
      const address = clientAddress(ctx, config);
      await count(ctx, openings, `opening:${address}`);
      const [, site] = networksOf(address);
      if (site?.includes(':')) await count(ctx, openingsOfSite, `opening:${site}`);
    },
  };
}

function successesKey(way: Way, userId: string): string {
  return `successes:${way}:${userId}`;
}

/** Counts hashes that started: finished or in progress, but not those rejected because the queue was full. */
function countHashes() {
  let begun = 0;
  const counted: Counted = async (hash) => {
    begun++;
    try {
      return await hash;
    } catch (error) {
      if (error instanceof PasswordsBusyError) begun--;
      throw error;
    }
  };
  return { counted, begun: () => begun };
}

/** Hashes the key's parts, so that the counters do not reveal e-mail addresses. */
function keyOf(kind: string, ...of: string[]): string {
  return `${kind}:${createHash('sha256').update(of.join('\n')).digest('base64url')}`;
}
