import { createHmac } from 'node:crypto';
import * as argon2 from '@node-rs/argon2';
import { createTurns, type TurnClaim } from '../../platform/turns.js';

const SALT_BYTES = 16;

/** OWASP's minimum for Argon2id: 19 MiB, two passes. */
const OPTIONS = { algorithm: 2 as argon2.Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Each takes 19 MiB, so few run at once; more than this many waiting would take too long to be answered. */
const AT_ONCE = 3;
const MOST_WAITING = 60;

/** Thrown when a password could not be checked in time, or too many of the same network wait; nothing was hashed. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';

  constructor() {
    super('Too many passwords wait to be checked.');
  }
}

/** Commands and the first start, which nobody floods. */
const OURSELVES: TurnClaim = { groups: ['ourselves'] };

export type Passwords = ReturnType<typeof createPasswords>;

/** What hashes: the library, or in tests something slower that hashes by it. */
export type Hasher = Pick<typeof argon2, 'hash' | 'verify'>;

/** Hashes of passwords, slow on purpose. Each waits for its turn, which networks get in rounds. */
export function createPasswords({ hash, verify }: Hasher = argon2) {
  const turns = createTurns({
    atOnce: AT_ONCE,
    mostWaiting: MOST_WAITING,
    turnedAway: () => new PasswordsBusyError(),
  });
  /** Checked where nobody has the e-mail address, so that the time tells nothing. Made once, and waited for by nobody else. */
  let nobody: Promise<string> | undefined;

  return {
    /** @throws PasswordsBusyError, or the reason why the claim ended */
    hash: (password: string, claim: TurnClaim = OURSELVES): Promise<string> =>
      turns.run(claim, () => hash(password, OPTIONS)),

    /**
     * The same hash for the same password, by a salt that belongs to the e-mail address: of any number of sign-ups with the
     * address, the one with this password is found by a single hash.
     * @throws PasswordsBusyError, or the reason why the claim ended
     */
    hashFor: (
      address: { email: string; pepper: string },
      password: string,
      claim: TurnClaim = OURSELVES,
    ): Promise<string> => turns.run(claim, () => hash(password, { ...OPTIONS, salt: saltOf(address) })),

    /**
     * Whether it is the password; takes its time also where there is none to compare with.
     * @throws PasswordsBusyError, or the reason why the claim ended
     */
    async verify(password: string, passwordHash: string | undefined, claim: TurnClaim = OURSELVES): Promise<boolean> {
      const fits = await turns.run(claim, async () => {
        nobody ??= hash('nobody has this password', OPTIONS);
        return verify(passwordHash ?? (await nobody), password);
      });
      return fits && passwordHash !== undefined;
    },
  };
}

/** The pepper keeps whoever knows the address from computing hashes in advance. */
function saltOf({ email, pepper }: { email: string; pepper: string }): Uint8Array {
  return createHmac('sha256', pepper).update(`sign-up password\n${email}`).digest().subarray(0, SALT_BYTES);
}
