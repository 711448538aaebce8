import { createHmac } from 'node:crypto';
import { hash, verify, type Algorithm } from '@node-rs/argon2';
import { createTurns } from '../access/turns.js';

const SALT_BYTES = 16;

/** OWASP's minimum for Argon2id: 19 MiB, two passes. */
const OPTIONS = { algorithm: 2 as Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Each takes 19 MiB, so few run at once; more than this many waiting would take too long to be answered. */
const AT_ONCE = 3;
const MOST_WAITING = 60;

/** Thrown when too many passwords wait to be checked. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';
}

export type Passwords = ReturnType<typeof createPasswords>;

/** Hashes of passwords, slow on purpose. */
export function createPasswords() {
  const turns = createTurns({ atOnce: AT_ONCE, mostWaiting: MOST_WAITING });
  /** Checked where nobody has the e-mail address, so that the time tells nothing. */
  let nobody: Promise<string> | undefined;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    turns(work, () => Promise.reject(new PasswordsBusyError('Too many passwords wait to be checked.')));

  /** Made once; tried again after a failure, such as too many that wait. */
  async function hashOfNobody(): Promise<string> {
    nobody ??= inTurn(() => hash('nobody has this password', OPTIONS));
    try {
      return await nobody;
    } catch (error) {
      nobody = undefined;
      throw error;
    }
  }

  return {
    hash: (password: string): Promise<string> => inTurn(() => hash(password, OPTIONS)),

    /**
     * The same hash for the same password, by a salt that belongs to the e-mail address: of any number of sign-ups with the
     * address, the one with this password is found by a single hash.
     */
    hashFor: (address: { email: string; pepper: string }, password: string): Promise<string> =>
      inTurn(() => hash(password, { ...OPTIONS, salt: saltOf(address) })),

    /** Whether it is the password; takes its time also where there is none to compare with. */
    async verify(password: string, passwordHash: string | undefined): Promise<boolean> {
      const compared = passwordHash ?? (await hashOfNobody());
      const fits = await inTurn(() => verify(compared, password));
      return fits && passwordHash !== undefined;
    },
  };
}

/** The pepper keeps whoever knows the address from computing hashes in advance. */
function saltOf({ email, pepper }: { email: string; pepper: string }): Uint8Array {
  return createHmac('sha256', pepper).update(`sign-up password\n${email}`).digest().subarray(0, SALT_BYTES);
}
