import { createHmac, randomBytes } from 'node:crypto';
import { unavailable } from '../../platform/http/deadline.js';
import { createTurns } from '../../platform/turns.js';

/** Of keys and sessions, by addresses with too many failures, at the same time: fewer than a third of the 20 database connections. */
const AT_ONCE = 6;
const MOST_WAITING = 1_000;
/** Keys and sessions that were good in this process; 64 bytes each. */
const REMEMBERED = 10_000;
const TURNED_AWAY = new Error('Too many look-ups wait.');

/**
 * Looks up keys and sessions of addresses that failed too often. A good key must not suffer from others behind the same
 * address, so it has to be looked up before anything is refused. What that costs is bounded: a text of the wrong form
 * reaches no database, every other failure costs one read by primary key, and few of these reads are under way at a time.
 * Keys and sessions that were good before pass the line; whether they still are is read as ever.
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
     * @param p.deadline ms since the epoch, after which nobody waits for the answer
     * @returns null also when too many wait for a turn
     * @throws ServiceError SERVICE_UNAVAILABLE when the turn comes too late
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
