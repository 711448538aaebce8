import { createHmac, randomBytes } from 'node:crypto';
import { unavailable } from '../../platform/http/deadline.js';
import { createTurns } from '../../platform/turns.js';

/** Concurrent look-ups for addresses with too many failures: fewer than a third of the 20 database connections. */
const AT_ONCE = 6;
const MOST_WAITING = 1_000;
/** Keys and sessions that were recently valid in this process; 64 bytes each. */
const REMEMBERED = 10_000;
const TURNED_AWAY = new Error('Too many look-ups wait.');

/**
 * Looks up keys and sessions for addresses with too many failures. A valid key must not suffer from others behind the
 * same address, so it is looked up before anything is rejected. The cost is bounded: malformed secrets never reach the
 * database, every other failure costs one read by primary key, and few of these reads run at once. Recently valid keys
 * and sessions skip the queue; whether they are still valid is read as usual.
 */
export function createLookUps(options: { atOnce?: number; mostWaiting?: number; remembered?: number } = {}) {
  const { atOnce = AT_ONCE, mostWaiting = MOST_WAITING, remembered = REMEMBERED } = options;
  const salt = randomBytes(16);
  const good = new Set<string>();
  const turns = createTurns({ atOnce, mostWaiting, turnedAway: () => TURNED_AWAY });

  function remember(id: string): void {
    good.delete(id);
    good.add(id);
    if (good.size <= remembered) return;
    for (const oldest of good) {
      good.delete(oldest);
      return;
    }
  }

  async function inTurn<T>(deadline: number, lookUp: () => Promise<T | null>): Promise<T | null> {
    const work = async () => {
      if (Date.now() >= deadline) throw unavailable();
      return lookUp();
    };
    try {
      return await turns.run({}, work);
    } catch (error) {
      if (error === TURNED_AWAY) return null;
      throw error;
    }
  }

  return {
    /**
     * @param p.isCrowded whether the address has failed too often
     * @param p.deadline ms since the epoch, after which the result is no longer needed
     * @returns null also if too many look-ups wait
     * @throws ServiceError SERVICE_UNAVAILABLE if the look-up could not start before the deadline
     */
    async find<T>(
      secret: string,
      p: { isCrowded: boolean; deadline: number },
      lookUp: () => Promise<T | null>,
    ): Promise<T | null> {
      const id = createHmac('sha256', salt).update(secret).digest('base64url');
      const found = await (p.isCrowded && !good.has(id) ? inTurn(p.deadline, lookUp) : lookUp());
      if (found === null) good.delete(id);
      else remember(id);
      return found;
    },
  };
}
