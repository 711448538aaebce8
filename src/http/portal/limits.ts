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
const DAY_SECONDS = 24 * 3_600;
const INVITATIONS = {
  ofAccount: { points: 50, duration: DAY_SECONDS },
  toAddress: { points: 10, duration: DAY_SECONDS },
  toAddressOfAccount: { points: 3, duration: DAY_SECONDS },
};

export type PortalLimits = ReturnType<typeof createPortalLimits>;

/** How often one may try passwords and open accounts; counted in the database, in memory while it is away. */
export function createPortalLimits({ config, database }: { config: Config; database: Database }) {
  const logIns = createLimiter(database, LOG_INS);
  const ofAddress = createLimiter(database, LOG_INS_OF_ADDRESS);
  const openings = createLimiter(database, OPENINGS);
  const invitations = createLimiter(database, INVITATIONS.ofAccount);
  const invitationsTo = createLimiter(database, INVITATIONS.toAddress);
  const invitationsOfAccountTo = createLimiter(database, INVITATIONS.toAddressOfAccount);

  async function count(ctx: ApiContext, of: RateLimiterMongo, key: string): Promise<void> {
    const { allowed, state } = await consume(of, key);
    if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
  }

  const logInKey = (ctx: ApiContext, email: string) => keyOf('log-in', email, clientAddress(ctx, config));

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

    /** @throws ServiceError RATE_LIMIT_EXCEEDED when the account, or everybody together for this address, invites too often */
    async countInvitation(ctx: ApiContext, { accountId, email }: { accountId: string; email: string }): Promise<void> {
      await count(ctx, invitationsOfAccountTo, keyOf('invitation', accountId, email));
      await count(ctx, invitationsTo, keyOf('invitation', email));
      await count(ctx, invitations, keyOf('invitations', accountId));
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
