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
/** Of one network address, whichever e-mail addresses it tries; people behind one address are many. */
const LOG_INS_OF_ADDRESS = { points: 60, duration: 15 * 60 };
/** Of one e-mail address in browsers that are known for it; beyond that they count as the network address they come from. */
const LOG_INS_OF_KNOWN = { points: 20, duration: 15 * 60 };
/** Of one e-mail address, whatever network addresses the tries come from; they are delayed, never refused. */
const FAILURES = { points: 1_000_000_000, duration: 15 * 60 };
/** Right passwords of one person, by each way to give one. Whoever has the password gets no endless hashes and sessions. */
const SUCCESSES = { points: 20, duration: 15 * 60 };
const OPENINGS = { points: 10, duration: 3_600 };
/** Of the /48 of an IPv6 address: one customer of a provider may have all of its 65,536 /64s. */
const OPENINGS_OF_SITE = { points: 30, duration: 3_600 };
/** Requests for links, and uses of them, of one network address. */
const LINKS = { points: 20, duration: 15 * 60 };
const DAY_SECONDS = 24 * 3_600;
const INVITATIONS = {
  ofAccount: { points: 50, duration: DAY_SECONDS },
  toAddress: { points: 10, duration: DAY_SECONDS },
  toAddressOfAccount: { points: 3, duration: DAY_SECONDS },
};

/** What a password is given for. */
type Way = 'logIn' | 'changePassword' | 'verifyEmail';

/** Passes the outcome of a hash on. */
type Counted = <R>(hash: Promise<R>) => Promise<R>;

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/** How often one may try passwords and open accounts; counted in the database, in memory while it is away. */
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

  /** @returns how often it was counted in the period, this time included */
  async function count(ctx: ApiContext, of: RateLimiterMongo, key: string): Promise<number> {
    const { allowed, state } = await consume(of, key);
    if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
    return state.consumedPoints;
  }

  return {
    /**
     * Checks a password as often, and as fast, as one may try. A try is counted before, so that no burst slips through; an
     * error before the first hash begins costs none of the tries of the network address, a later one does. The right
     * password of the e-mail address's holder forgets the tries before it, 20 times in 15 minutes; that of an unverified
     * sign-up does not, since strangers can sign up with any address.
     * A known browser counts in the place of its network address, as long as all those of the e-mail address try little.
     * @param way what the password is for; the successes of each way are counted by themselves
     * @param check undefined when the password is wrong; it passes each hash that it makes through `counted`
     * @throws ServiceError RATE_LIMIT_EXCEEDED, also for too many right passwords, or what `check` throws
     */
    async tryPassword<T extends { _id: string; unverified?: true }>(
      ctx: ApiContext,
      way: Way,
      email: string,
      check: (counted: Counted) => Promise<T | undefined>,
    ): Promise<T | undefined> {
      const browser = knownBrowserOf(ctx, config, email);
      const ofEmail = keyOf('known-browsers', email);
      // Each log-in without a cookie gives another one: whoever collects them gets no more tries.
      const isKnown = browser !== undefined && (await consume(ofKnown, ofEmail)).allowed;
      const known = isKnown ? browser : undefined;
      const address = known === undefined ? clientAddress(ctx, config) : `known:${known}`;
      const keys = {
        address: `log-ins:${address}`,
        both: keyOf('log-in', email, address),
        email: keyOf('failures', email),
      };
      // Failures of the e-mail address are never taken back: after they were forgotten, that would give tries for free.
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
        // Beyond that, the try stays counted: each has cost a hash.
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

    /** Lets a person log in again who has done so too often, or somebody else by their old password. */
    async forgetLogIns(userId: string): Promise<void> {
      await successes.delete(successesKey('logIn', userId));
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

/** Counts the hashes that began: those that ended, or still go on, but not those for which there was no room. */
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

/** Hashed, so that the table of counters is no list of e-mail addresses. */
function keyOf(kind: string, ...of: string[]): string {
  return `${kind}:${createHash('sha256').update(of.join('\n')).digest('base64url')}`;
}
