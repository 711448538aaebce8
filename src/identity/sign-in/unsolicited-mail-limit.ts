import { networksOf } from '../../platform/egress/client-address.js';
import { consume, createLimiter } from '../../platform/http/rate-limit.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { IdentityDatabase } from '../database.js';

const HOUR_SECONDS = 3_600;
/**
 * Maximum e-mails per hour to unverified addresses: far more than are needed on a good day, and few enough to protect
 * the reputation of the operator's domain.
 */
const ALL = { points: 1_000, duration: HOUR_SECONDS };
/**
 * Maximum e-mails per hour to unverified addresses that are not the first one of a sign-up, so that repetitions never
 * block new people.
 */
const OTHERS = { points: 700, duration: HOUR_SECONDS };
/**
 * Maximum e-mails per hour to unverified addresses that one network causes: the /24 of an IPv4 address, the /48 of an
 * IPv6 address.
 */
const OF_NETWORK = { points: 100, duration: HOUR_SECONDS };

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
  const all = { limiter: createLimiter(database, ALL), key: 'mail:strangers', ...ALL };
  const others = { limiter: createLimiter(database, OTHERS), key: 'mail:strangers:others', ...OTHERS };
  const ofNetwork = createLimiter(database, OF_NETWORK);

  return {
    /** Counts an e-mail. @returns undefined if it may be sent, otherwise how long to wait, in ms */
    async count({ address, isFirst }: MailCause): Promise<number | undefined> {
      const [, network = address] = networksOf(address);
      const share = { limiter: ofNetwork, key: `mail:strangers:${network}`, ...OF_NETWORK };
      for (const { limiter, key, points } of [share, ...(isFirst ? [] : [others]), all]) {
        const { allowed, state } = await consume(limiter, key);
        if (key !== share.key && state.consumedPoints === points + 1) {
          logger.warn({ repeated: key === others.key }, 'limit of e-mail to unverified addresses reached');
        }
        if (!allowed) return state.msBeforeNext;
      }
      return undefined;
    },
  };
}
