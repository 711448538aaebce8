import { createHmac } from 'node:crypto';
import * as argon2 from '@node-rs/argon2';
import { createFairQueue, type SlotRequest } from '../../platform/fair-queue.js';

const SALT_BYTES = 16;

/** OWASP's minimum for Argon2id: 19 MiB, two passes. */
const OPTIONS = { algorithm: 2 as argon2.Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Maximum concurrent hashes (19 MiB each), and maximum waiting ones: more could not finish in time. */
const MAX_RUNNING = 3;
const MAX_WAITING = 60;

/** Thrown if no hash could start in time, or if too many requests from the same network wait. Nothing was hashed. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';

  constructor() {
    super('Too many password checks are waiting.');
  }
}

/** Default queue group, for command-line programs and the first start. Clients cannot fill this group. */
const OWN_SLOT_REQUEST: SlotRequest = { groups: ['ourselves'] };

export type Passwords = ReturnType<typeof createPasswords>;

/** The hash functions: those of the library, or slower ones in tests. */
export type Hasher = Pick<typeof argon2, 'hash' | 'verify'>;

/** Hashes passwords, which is slow on purpose. Requests wait in a queue that serves networks in turn. */
export function createPasswords({ hash, verify }: Hasher = argon2) {
  const queue = createFairQueue({
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    createFullError: () => new PasswordsBusyError(),
  });
  /** If the e-mail address is unknown, the password is compared with this hash, so that timing reveals nothing. */
  let dummyHash: Promise<string> | undefined;

  return {
    /** @throws PasswordsBusyError, or the reason of the slotRequest's signal */
    hash: (password: string, slotRequest: SlotRequest = OWN_SLOT_REQUEST): Promise<string> =>
      queue.run(slotRequest, () => hash(password, OPTIONS)),

    /**
     * Hashes with a salt derived from the e-mail address. Equal passwords for one address then have equal hashes, so
     * that a single hash finds the sign-up with this password among all sign-ups with the address.
     * @throws PasswordsBusyError, or the reason of the slotRequest's signal
     */
    hashFor: (
      address: { email: string; pepper: string },
      password: string,
      slotRequest: SlotRequest = OWN_SLOT_REQUEST,
    ): Promise<string> => queue.run(slotRequest, () => hash(password, { ...OPTIONS, salt: saltOf(address) })),

    /**
     * Whether the password is correct. Takes the same time if there is no hash to compare with.
     * @throws PasswordsBusyError, or the reason of the slotRequest's signal
     */
    async verify(
      password: string,
      passwordHash: string | undefined,
      slotRequest: SlotRequest = OWN_SLOT_REQUEST,
    ): Promise<boolean> {
      const fits = await queue.run(slotRequest, async () => {
        dummyHash ??= hash('dummyHash has this password', OPTIONS);
        return verify(passwordHash ?? (await dummyHash), password);
      });
      return fits && passwordHash !== undefined;
    },
  };
}

/**
 * Returns the salt. It contains the pepper, so that attackers who know the address cannot compute hashes in advance.
 */
function saltOf({ email, pepper }: { email: string; pepper: string }): Uint8Array {
  return createHmac('sha256', pepper).update(`sign-up password\n${email}`).digest().subarray(0, SALT_BYTES);
}
