import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { IdentityDatabase } from '../database.js';
import type { ApiContext } from '../../platform/http/context.js';
import { PasswordsBusyError } from '../people/passwords.js';
import { consume, countAgainst, createLimiter, limitExceeded } from '../../platform/http/rate-limits/rate-limit.js';
import { networksOf } from '../../platform/egress/client-address.js';
import { clientAddress } from '../../platform/http/security.js';
import { knownBrowserOf } from './known-browsers.js';
import { createDelays, delayAfter, MAX_DELAY_MS } from './delays.js';

const LOG_INS = { points: 5, duration: 15 * 60 };
/** Attempts per network address, for all e-mail addresses together, because many people may share a network address. */
const LOG_INS_OF_ADDRESS = { points: 60, duration: 15 * 60 };
/**
 * Attempts per e-mail address from browsers in which its owner has logged in before. Further attempts count for their
 * network address.
 */
const LOG_INS_OF_KNOWN = { points: 20, duration: 15 * 60 };
/** Failures per e-mail address, from all network addresses. They delay attempts, but never cause a rejection. */
const FAILURES = { points: 1_000_000_000, duration: 15 * 60 };
/**
 * Correct passwords per person and purpose, so that even the account's owner cannot cause endless hashes and sessions.
 */
const SUCCESSES = { points: 20, duration: 15 * 60 };
const SIGN_UPS = { points: 10, duration: 3_600 };
/** Sign-ups per /48 of an IPv6 address, because one customer of a provider may own all of its 65,536 /64s. */
const SIGN_UPS_PER_SITE = { points: 30, duration: 3_600 };
/** Requests for links, and uses of links, per network address. */
const LINKS = { points: 20, duration: 15 * 60 };
const DAY_SECONDS = 24 * 3_600;
const INVITATIONS = {
  ofAccount: { points: 50, duration: DAY_SECONDS },
  toAddress: { points: 30, duration: DAY_SECONDS },
  /** Those that are not the first of their account to this address, so that few accounts cannot block the others. */
  repeatedToAddress: { points: 10, duration: DAY_SECONDS },
  toAddressOfAccount: { points: 3, duration: DAY_SECONDS },
};

/** The purpose of a password check. */
type PasswordPurpose = 'logIn' | 'changePassword' | 'verifyEmail';

/** Counts a hash and returns its result. */
type Counted = <R>(hash: Promise<R>) => Promise<R>;

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/**
 * Limits password attempts, sign-ups, links and invitations. Counts are in the database, or in memory while it is
 * unavailable.
 */
export function createPortalLimits({ config, database }: { config: Config; database: IdentityDatabase }) {
  const logIns = createLimiter(database, LOG_INS);
  const ofAddress = createLimiter(database, LOG_INS_OF_ADDRESS);
  const ofKnown = createLimiter(database, LOG_INS_OF_KNOWN);
  const failures = createLimiter(database, FAILURES);
  const delays = createDelays();
  const successes = createLimiter(database, SUCCESSES);
  const signUps = createLimiter(database, SIGN_UPS);
  const signUpsOfSite = createLimiter(database, SIGN_UPS_PER_SITE);
  const links = createLimiter(database, LINKS);
  const invitations = createLimiter(database, INVITATIONS.ofAccount);
  const invitationsTo = createLimiter(database, INVITATIONS.toAddress);
  const repeatedInvitationsTo = createLimiter(database, INVITATIONS.repeatedToAddress);
  const invitationsOfAccountTo = createLimiter(database, INVITATIONS.toAddressOfAccount);

  return {
    /**
     * Checks a password within the limits. An attempt is counted before the check, so that bursts cannot exceed the
     * limit. If an error comes before the first hash starts, the attempt is not counted against the network address; an
     * error after that is counted. A correct password resets the count of earlier attempts, up to 20 times in 15
     * minutes. The password of an unverified sign-up does not, since anyone can sign up with any address. Attempts from
     * a known browser do not count against its network address, up to 20 per e-mail address in 15 minutes.
     * @param purpose what the password is for; successes are counted per purpose
     * @param check resolves to undefined if the password is wrong; passes every hash through `counted`
     * @throws ServiceError RATE_LIMIT_EXCEEDED, also for too many correct passwords, or what `check` throws
     */
    async tryPassword<T extends { _id: string; unverified?: true }>(
      ctx: ApiContext,
      purpose: PasswordPurpose,
      email: string,
      check: (counted: Counted) => Promise<T | undefined>,
    ): Promise<T | undefined> {
      const browser = knownBrowserOf(ctx, config, email);
      const ofEmail = keyOf('known-browsers', email);
      // Each log-in without the cookie of a known browser issues a new cookie. All cookies of an e-mail address share
      // one limit, so collecting them is useless.
      const isKnown = browser !== undefined && (await consume(ofKnown, ofEmail)).allowed;
      const known = isKnown ? browser : undefined;
      const address = known === undefined ? clientAddress(ctx, config) : `known:${known}`;
      const keys = {
        address: `log-ins:${address}`,
        both: keyOf('log-in', email, address),
        email: keyOf('failures', email),
      };
      // The e-mail address's count of failures gets no refund: a concurrent correct password may have reset the count,
      // and a refund would then grant additional attempts.
      const refundKnownBrowser = async () => (isKnown ? ofKnown.reward(ofEmail) : undefined);
      const refund = () =>
        Promise.all([logIns.reward(keys.both), ofAddress.reward(keys.address), refundKnownBrowser()]);
      await countAgainst(ctx, ofAddress, keys.address);
      await countAgainst(ctx, logIns, keys.both);
      const { state } = await consume(failures, keys.email);
      const hashes = countHashes();
      try {
        const delayed = () => delays.wait({ email: keys.email, address }, delayAfter(state.consumedPoints - 1));
        const hasWaited = await (ctx.state.releaseSlotDuring?.(delayed) ?? delayed());
        if (!hasWaited) throw limitExceeded(ctx, MAX_DELAY_MS / 1_000);
        const found = await check(hashes.counted);
        if (found === undefined) return undefined;
        // This throws if there were too many correct passwords. The attempt then stays counted, because it cost a hash.
        await countAgainst(ctx, successes, successesKey(purpose, found._id));
        if (found.unverified) await refund();
        else {
          const others = [failures.delete(keys.email), ofAddress.reward(keys.address), refundKnownBrowser()];
          await Promise.all([logIns.delete(keys.both), ...others]);
        }
        return found;
      } catch (error) {
        if (hashes.begun() === 0) await refund();
        throw error;
      }
    },

    /**
     * Resets the count of a person's successful log-ins, because an attacker with the old password may have reached its
     * limit.
     */
    async forgetLogIns(userId: string): Promise<void> {
      await successes.delete(successesKey('logIn', userId));
    },

    /**
     * Counts an invitation.
     * @throws ServiceError RATE_LIMIT_EXCEEDED if this account has sent too many invitations, in total or to this
     * address, or all accounts together have sent too many to this address
     */
    async countInvitation(ctx: ApiContext, { accountId, email }: { accountId: string; email: string }): Promise<void> {
      const ofAccount = await countAgainst(ctx, invitationsOfAccountTo, keyOf('invitation', accountId, email));
      if (ofAccount > 1) await countAgainst(ctx, repeatedInvitationsTo, keyOf('repeated-invitation', email));
      await countAgainst(ctx, invitationsTo, keyOf('invitation', email));
      await countAgainst(ctx, invitations, keyOf('invitations', accountId));
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countLink(ctx: ApiContext): Promise<void> {
      await countAgainst(ctx, links, `links:${clientAddress(ctx, config)}`);
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countSignUp(ctx: ApiContext): Promise<void> {
      const address = clientAddress(ctx, config);
      await countAgainst(ctx, signUps, `opening:${address}`);
      const [, site] = networksOf(address);
      if (site?.includes(':')) await countAgainst(ctx, signUpsOfSite, `opening:${site}`);
    },
  };
}

function successesKey(purpose: PasswordPurpose, userId: string): string {
  return `successes:${purpose}:${userId}`;
}

/** Counts hashes that were started, finished or not. Hashes rejected because the queue was full do not count. */
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

/** Builds the key of a counter. It contains a hash, so that the counters do not reveal e-mail addresses. */
function keyOf(kind: string, ...of: string[]): string {
  return `${kind}:${createHash('sha256').update(of.join('\n')).digest('base64url')}`;
}
