import { createHmac, randomBytes } from 'node:crypto';
import { serviceUnavailable } from '../../platform/http/deadline.js';
import { createFairQueue } from '../../platform/fair-queue.js';

/**
 * Maximum concurrent lookups for network addresses with too many failures: less than a third of the 20 database
 * connections.
 */
const MAX_RUNNING = 6;
const MAX_WAITING = 1_000;
/** Maximum recently valid keys and sessions that this process keeps in memory, 64 bytes each. */
const MAX_REMEMBERED = 10_000;
const QUEUE_FULL = new Error('Too many credential lookups are waiting.');

/**
 * Looks up keys and sessions for network addresses with too many failures. Many clients may share a network address, so
 * a key is looked up before the request is rejected: a valid key must always work. The cost is limited, because
 * malformed secrets never reach the database, every other failure costs one read by primary key, and few of these reads
 * run at once. Keys and sessions that were valid recently skip the queue. Cached keys never get here.
 */
export function createCredentialLookups(
  options: { maxRunning?: number; maxWaiting?: number; maxRemembered?: number } = {},
) {
  const { maxRunning = MAX_RUNNING, maxWaiting = MAX_WAITING, maxRemembered = MAX_REMEMBERED } = options;
  const salt = randomBytes(16);
  /** Account ids by `idOf` of a key or session. */
  const recentlyValid = new Map<string, string>();
  const queue = createFairQueue({ maxRunning, maxWaiting, createFullError: () => QUEUE_FULL });

  function remember(id: string, accountId: string): void {
    recentlyValid.delete(id);
    recentlyValid.set(id, accountId);
    if (recentlyValid.size <= maxRemembered) return;
    for (const oldest of recentlyValid.keys()) {
      recentlyValid.delete(oldest);
      return;
    }
  }

  async function findQueued<T>(deadline: number, lookup: () => Promise<T | null>): Promise<T | null> {
    const work = async () => {
      if (Date.now() >= deadline) throw serviceUnavailable();
      return lookup();
    };
    try {
      return await queue.run({}, work);
    } catch (error) {
      if (error === QUEUE_FULL) return null;
      throw error;
    }
  }

  return {
    /** Returns the hash of a secret by which this process knows it. The secret itself is never kept. */
    idOf: (secret: string): string => createHmac('sha256', salt).update(secret).digest('base64url'),

    /**
     * Looks up a secret, in a queue if the client's network address has had too many failures.
     * @param id the secret's `idOf`
     * @param p.hasFailedTooOften whether the network address has had too many failures
     * @param p.deadline ms since the epoch, after which the result is no longer needed
     * @param accountIdOf returns the account that a valid key or session belongs to
     * @returns null if nothing was found, or if too many lookups wait
     * @throws ServiceError SERVICE_UNAVAILABLE if the lookup could not start before the deadline
     */
    async find<T>(
      id: string,
      p: { hasFailedTooOften: boolean; deadline: number },
      lookup: () => Promise<T | null>,
      accountIdOf: (found: T) => string,
    ): Promise<T | null> {
      const found = await (p.hasFailedTooOften && !recentlyValid.has(id) ? findQueued(p.deadline, lookup) : lookup());
      if (found === null) recentlyValid.delete(id);
      else remember(id, accountIdOf(found));
      return found;
    },

    /** Returns the account of a key or session that was valid recently; undefined if unknown. */
    accountIdOf: (id: string): string | undefined => recentlyValid.get(id),
  };
}
