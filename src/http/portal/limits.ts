import { createHash } from 'node:crypto';
import type { RateLimiterMongo } from 'rate-limiter-flexible';
import type { Config } from '../../config.js';
import type { Database } from '../../store/database.js';
import type { ApiContext } from '../context.js';
import { consume, createLimiter, limitExceeded } from '../middleware/rate-limit.js';
import { clientAddress } from '../middleware/security.js';

const LOG_INS = { points: 5, duration: 15 * 60 };
/** Of one network address, whichever e-mail addresses it tries; people behind one address are many. */
const LOG_INS_OF_ADDRESS = { points: 60, duration: 15 * 60 };
const OPENINGS = { points: 10, duration: 3_600 };

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/** How often one may try passwords and open accounts; counted in the database, in memory while it is away. */
export function createPortalLimits({ config, database }: { config: Config; database: Database }) {
  const logIns = createLimiter(database, LOG_INS);
  const ofAddress = createLimiter(database, LOG_INS_OF_ADDRESS);
  const openings = createLimiter(database, OPENINGS);

  async function count(ctx: ApiContext, of: RateLimiterMongo, key: string): Promise<void> {
    const { allowed, state } = await consume(of, key);
    if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
  }

  /** Hashed: the table of counters is no list of e-mail addresses. */
  function logInKey(ctx: ApiContext, email: string): string {
    return `log-in:${createHash('sha256')
      .update(`${email}\n${clientAddress(ctx, config)}`)
      .digest('base64url')}`;
  }

  return {
    /** Counts a try before the password is looked at. @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countLogIn(ctx: ApiContext, email: string): Promise<void> {
      await count(ctx, ofAddress, `log-ins:${clientAddress(ctx, config)}`);
      await count(ctx, logIns, logInKey(ctx, email));
    },

    /** A right password: the tries before it are forgotten. */
    async forgetLogIns(ctx: ApiContext, email: string): Promise<void> {
      await logIns.delete(logInKey(ctx, email));
    },

    /** @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countOpening(ctx: ApiContext): Promise<void> {
      await count(ctx, openings, `opening:${clientAddress(ctx, config)}`);
    },
  };
}
