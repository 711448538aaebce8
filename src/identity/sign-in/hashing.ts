import type { Config } from '../../platform/config/config.js';
import { networksOf } from '../../platform/egress/client-address.js';
import type { ApiContext } from '../../platform/http/context.js';
import { abortSignalOf, deadlineAfterBody } from '../../platform/http/deadline.js';
import { clientAddress } from '../../platform/http/security.js';
import type { SlotRequest } from '../../platform/fair-queue.js';
import type { UserDocument } from '../people/model.js';
import { PasswordsBusyError, type Passwords } from '../people/passwords.js';
import { RESPONSE_TIMEOUT_MS, inTime } from './person-requests.js';

/** Minimum time for a hash. With less time left until the deadline, no hash is started. */
const HASHING_MS = 100;

export type Hashing = ReturnType<typeof createHashing>;

/** Hashes the passwords of requests in a queue that serves networks in turn. */
export function createHashing({ config, passwords }: { config: Config; passwords: Passwords }) {
  /** Leaves the queue at the response deadline, or when the client disconnects. */
  function claimOf(ctx: ApiContext): SlotRequest {
    const deadline = deadlineAfterBody(ctx, RESPONSE_TIMEOUT_MS) - HASHING_MS;
    const signal = abortSignalOf(ctx, deadline, () => new PasswordsBusyError());
    return { groups: networksOf(clientAddress(ctx, config)), signal };
  }

  return {
    /**
     * Computes the hash to store. Unverified sign-ups are found by address and hash, so their hash depends on the
     * address.
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
     * Whether the password is correct. Takes the same time if there is no hash to compare with.
     * @throws PasswordsBusyError, ServiceError SERVICE_UNAVAILABLE
     */
    verify: (ctx: ApiContext, password: string, passwordHash: string | undefined): Promise<boolean> =>
      inTime(ctx, passwords.verify(password, passwordHash, claimOf(ctx))),
  };
}
