import { createHmac } from 'node:crypto';
import type { NumberingPlans } from '../../kernel/destinations/destinations.js';
import type { TelephonyDatabase } from '../database.js';
import { memberOf, type Leg } from './dial-legs.js';
import type { PeriodCountDocument } from './model.js';
import { createPeriodCounts } from './period-counts.js';

/** One dial of a number. */
export interface Attempt {
  callId: string;
  leg: Leg;
  to: string;
}

export type UnansweredAttempts = ReturnType<typeof createUnansweredAttempts>;

/** The hour is over by then on every clock that is not wrong by more than an hour. */
const KEPT_MS = 2 * 60 * 60 * 1_000;

/**
 * Dials per number and UTC hour that nobody has answered, of all accounts together: it is one person's phone that rings. A
 * dial counts from right before the carrier is asked, by the line that rings, whatever surplus digits follow its number. One
 * whose end is never told, because a process died, counts until the hour ends. Numbers are kept as hashes under the pepper,
 * for two hours.
 */
export function createUnansweredAttempts(deps: {
  database: TelephonyDatabase;
  pepper: string;
  loadPlans: () => Promise<NumberingPlans>;
  now?: () => Date;
}) {
  const { database, pepper, loadPlans, now = () => new Date() } = deps;
  const db = database.connection.getClient().db(database.connection.name);
  const documents = db.collection<PeriodCountDocument>(database.unansweredAttempts.collection.collectionName);
  const counts = createPeriodCounts(documents, now);

  async function idOf(to: string): Promise<string> {
    const line = (await loadPlans()).withoutSurplusDigits(to);
    return createHmac('sha256', pepper).update(`unanswered attempts\n${line}`).digest('hex');
  }

  return {
    /** @returns false when the number has had as many */
    async count(attempt: Attempt, limit: number): Promise<boolean> {
      const at = now().getTime();
      await documents.deleteMany({ expiresAt: { $lt: new Date(at) } });
      return counts.add({
        _id: await idOf(attempt.to),
        period: 'hour',
        limit,
        member: memberOf(attempt),
        fields: { expiresAt: new Date(at + KEPT_MS) },
      });
    },

    /** Whether {@link count} would let this attempt go on, as things stand. Counts nothing. */
    hasRoom: async (attempt: Attempt, limit: number) =>
      counts.hasRoom({ _id: await idOf(attempt.to), period: 'hour', limit, member: memberOf(attempt) }),

    /** The number was not dialed. */
    notDialed: async (attempt: Attempt) => counts.remove(await idOf(attempt.to), memberOf(attempt)),

    /** Somebody answered. A repeat of the request that asked for the call does not count it again. */
    answered: async (attempt: Attempt) => counts.remove(await idOf(attempt.to), memberOf(attempt), { forGood: true }),
  };
}
