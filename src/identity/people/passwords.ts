import { createHmac } from 'node:crypto';
import * as argon2 from '@node-rs/argon2';
import { createTurns, type TurnClaim } from '../../platform/turns.js';

const SALT_BYTES = 16;

/** OWASP's minimum for Argon2id: 19 MiB, two passes. */
const OPTIONS = { algorithm: 2 as argon2.Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Concurrent hashes, which take 19 MiB each, and maximum waiting ones: more could not finish in time. */
const AT_ONCE = 3;
const MOST_WAITING = 60;

/** Thrown if a password could not be hashed in time, or too many of the same network wait. Nothing was hashed. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';

  constructor() {
    super('Too many passwords wait to be checked.');
  }
}

/** Default queue group, for commands and the first start, which no client can flood. */
const OURSELVES: TurnClaim = { groups: ['ourselves'] };

export type Passwords = ReturnType<typeof createPasswords>;

/** The hash functions: those of the library, or slower ones in tests. */
export type Hasher = Pick<typeof argon2, 'hash' | 'verify'>;

/** Hashes passwords, which is slow on purpose. Requests queue, in rotation by network. */
export function createPasswords({ hash, verify }: Hasher = argon2) {
  const turns = createTurns({
    atOnce: AT_ONCE,
    mostWaiting: MOST_WAITING,
    turnedAway: () => new PasswordsBusyError(),
  });
  /** Compared with if the e-mail address is unknown, so that timing reveals nothing. Created once. */
  let nobody: Promise<string> | undefined;

  return {
    /** @throws PasswordsBusyError, or the reason of the claim's signal */
    hash: (password: string, claim: TurnClaim = OURSELVES): Promise<string> =>
      turns.run(claim, () => hash(password, OPTIONS)),

    /**
     * Hashes with a salt derived from the e-mail address, so that equal passwords have equal hashes: among any number
     * of sign-ups with the address, one hash finds the one with this password.
     * @throws PasswordsBusyError, or the reason of the claim's signal
     */
    hashFor: (
      address: { email: string; pepper: string },
      password: string,
      claim: TurnClaim = OURSELVES,
    ): Promise<string> => turns.run(claim, () => hash(password, { ...OPTIONS, salt: saltOf(address) })),

    /**
     * Whether the password is correct. Takes as long if there is no hash to compare with.
     * @throws PasswordsBusyError, or the reason of the claim's signal
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

/** The pepper prevents attackers who know the address from computing hashes in advance. */
function saltOf({ email, pepper }: { email: string; pepper: string }): Uint8Array {
  return createHmac('sha256', pepper).update(`sign-up password\n${email}`).digest().subarray(0, SALT_BYTES);
}
