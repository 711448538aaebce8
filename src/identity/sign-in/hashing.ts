import type { Config } from '../../platform/config/config.js';
import { networksOf } from '../../platform/egress/client-address.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineAfterBody, unavailable } from '../../platform/http/deadline.js';
import { clientAddress } from '../../platform/http/security.js';
import type { TurnClaim } from '../../platform/turns.js';
import type { UserDocument } from '../people/model.js';
import { PasswordsBusyError, type Passwords } from '../people/passwords.js';
import { ANSWER_WITHIN_MS, inTime } from './person-requests.js';

/** A hash takes this long at least: one that begins later is done for nobody. */
const HASHING_MS = 100;

export type Hashing = ReturnType<typeof createHashing>;

/** Hashes the passwords of requests, in turn by the network that they come from. */
export function createHashing({ config, passwords }: { config: Config; passwords: Passwords }) {
  /** It leaves the line when the answer is due, or the client has gone. */
  function claimOf(ctx: ApiContext): TurnClaim {
    const over = new AbortController();
    const leftMs = deadlineAfterBody(ctx, ANSWER_WITHIN_MS) - HASHING_MS - Date.now();
    const late = setTimeout(() => over.abort(new PasswordsBusyError()), Math.max(0, leftMs));
    const gone = () => {
      clearTimeout(late);
      over.abort(unavailable());
    };
    if (ctx.res.closed || ctx.res.destroyed) gone();
    else ctx.res.once('close', gone);
    return { groups: networksOf(clientAddress(ctx, config)), until: over.signal };
  }

  return {
    /**
     * The hash to store. Sign-ups are found by the address and the hash, so theirs is made for the address.
     * @throws PasswordsBusyError, ServiceError SERVICE_UNAVAILABLE
     */
    hash(ctx: ApiContext, user: Pick<UserDocument, 'email' | 'unverified'>, password: string): Promise<string> {
      const claim = claimOf(ctx);
      const { email, unverified } = user;
      const hashed = unverified
        ? passwords.hashFor({ email, pepper: config.apiKeyPepper }, password, claim)
        : passwords.hash(password, claim);
      return inTime(ctx, hashed);
    },

    /**
     * Whether it is the password; takes as long where there is none.
     * @throws PasswordsBusyError, ServiceError SERVICE_UNAVAILABLE
     */
    verify: (ctx: ApiContext, password: string, passwordHash: string | undefined): Promise<boolean> =>
      inTime(ctx, passwords.verify(password, passwordHash, claimOf(ctx))),
  };
}
