import { networksOf } from '../../platform/egress/client-address.js';
import { consume, createLimiter } from '../../platform/http/rate-limit.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { IdentityDatabase } from '../database.js';

const HOUR_SECONDS = 3_600;
/**
 * E-mails per hour to unverified addresses, in total: far more than sign up on a good day, and few enough to protect
 * the reputation of the operator's domain.
 */
const ALL = { points: 1_000, duration: HOUR_SECONDS };
/** Of these, all but first verification e-mails, so that repetitions never block new people. */
const OTHERS = { points: 700, duration: HOUR_SECONDS };
/** Of these, caused by one network: the /24 of an IPv4 address, the /48 of an IPv6 address. */
const OF_NETWORK = { points: 100, duration: HOUR_SECONDS };

/** The client that causes an e-mail. */
export interface LetterCause {
  /** The client, as rate limits identify it. */
  address: string;
  /** Whether it is the first verification e-mail of a new sign-up. */
  isFirst: boolean;
}

export type LettersToStrangers = ReturnType<typeof createLettersToStrangers>;

/** Limits e-mails to unverified addresses, for all processes together. */
export function createLettersToStrangers({ database, logger }: { database: IdentityDatabase; logger: Logger }) {
  const all = { limiter: createLimiter(database, ALL), key: 'mail:strangers', ...ALL };
  const others = { limiter: createLimiter(database, OTHERS), key: 'mail:strangers:others', ...OTHERS };
  const ofNetwork = createLimiter(database, OF_NETWORK);

  return {
    /** Counts an e-mail. @returns undefined if it may be sent, otherwise how long to wait, in ms */
    async count({ address, isFirst }: LetterCause): Promise<number | undefined> {
      const [, network = address] = networksOf(address);
      const share = { limiter: ofNetwork, key: `mail:strangers:${network}`, ...OF_NETWORK };
      for (const { limiter, key, points } of [share, ...(isFirst ? [] : [others]), all]) {
        const { allowed, state } = await consume(limiter, key);
        if (key !== share.key && state.consumedPoints === points + 1) {
          logger.warn({ repeated: key === others.key }, 'the limit of e-mail to strangers is reached');
        }
        if (!allowed) return state.msBeforeNext;
      }
      return undefined;
    },
  };
}
