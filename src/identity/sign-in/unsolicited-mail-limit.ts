import { networksOf } from '../../platform/egress/client-address.js';
import { consume, createLimiter } from '../../platform/http/rate-limits/rate-limit.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { IdentityDatabase } from '../database.js';

const HOUR_SECONDS = 3_600;

/**
 * Maximum e-mails per hour to unverified addresses, in each of two pools: one for sign-ups and password resets, one
 * for invitations. Far more than are needed on a good day, and few enough to protect the reputation of the operator's
 * domain.
 */
const ALL = { points: 1_000, duration: HOUR_SECONDS };
/**
 * Maximum e-mails per hour and pool that are not among the first ones of their sender: the first of a sign-up, and the
 * first five of an account, so that repetitions never block new people, and busy accounts not those that invite few.
 */
const OTHERS = { points: 700, duration: HOUR_SECONDS };
const FIRST_INVITATIONS = 5;
/** Maximum invitations per account and hour. */
const OF_ACCOUNT = { points: 50, duration: HOUR_SECONDS };
/**
 * Maximum e-mails per hour because of sign-ups and password resets in one network: in the /24 of an IPv4
 * address or the /48 of an IPv6 address, and in its /16 or /32. So 20 large networks are needed to use up the e-mails of all.
 */
const OF_NETWORK = { points: 30, duration: HOUR_SECONDS };
const OF_LARGE_NETWORK = { points: 50, duration: HOUR_SECONDS };

/** The cause of an e-mail. */
export interface MailCause {
  /** The client whose request causes the e-mail, as `clientOf` names it. */
  address: string;
  /** Whether the e-mail is the first verification e-mail of a new sign-up. */
  isFirst: boolean;
}

export type UnsolicitedMailLimit = ReturnType<typeof createUnsolicitedMailLimit>;

/** Limits e-mails to unverified addresses. All processes together share the limits. */
export function createUnsolicitedMailLimit({ database, logger }: { database: IdentityDatabase; logger: Logger }) {
  const all = createLimiter(database, ALL);
  const others = createLimiter(database, OTHERS);
  const ofAccount = createLimiter(database, OF_ACCOUNT);
  const ofNetwork = createLimiter(database, OF_NETWORK);
  const ofLargeNetwork = createLimiter(database, OF_LARGE_NETWORK);

  async function countInPool(pool: string, isFirst: boolean): Promise<number | undefined> {
    const repeated = { limiter: others, key: `${pool}:others`, ...OTHERS };
    for (const { limiter, key, points } of [...(isFirst ? [] : [repeated]), { limiter: all, key: pool, ...ALL }]) {
      const { allowed, state } = await consume(limiter, key);
      if (state.consumedPoints === points + 1) {
        logger.warn({ pool, repeated: limiter === others }, 'limit of e-mail to unverified addresses reached');
      }
      if (!allowed) return state.msBeforeNext;
    }
    return undefined;
  }

  return {
    /** Counts an e-mail because of a sign-up or password reset. @returns undefined if it may be sent, otherwise how long to wait, in ms */
    async count({ address, isFirst }: MailCause): Promise<number | undefined> {
      const [large = address, network = address] = networksOf(address);
      const shares = [
        { limiter: ofNetwork, key: `mail:strangers:${network}` },
        { limiter: ofLargeNetwork, key: `mail:strangers:large:${large}` },
      ];
      for (const { limiter, key } of shares) {
        const { allowed, state } = await consume(limiter, key);
        if (!allowed) return state.msBeforeNext;
      }
      return countInPool('mail:strangers', isFirst);
    },

    /** Counts an invitation. @returns undefined if it may be sent, otherwise how long to wait, in ms */
    async countInvitation(accountId: string): Promise<number | undefined> {
      const { allowed, state } = await consume(ofAccount, `mail:invitations:${accountId}`);
      if (!allowed) return state.msBeforeNext;
      return countInPool('mail:invitations', state.consumedPoints <= FIRST_INVITATIONS);
    },
  };
}
