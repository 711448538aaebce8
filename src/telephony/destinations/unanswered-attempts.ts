import { driverCollection } from '../../platform/mongo/driver-collection.js';
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
  /** Whose attempt it is; absent: it is counted for all accounts together only. */
  accountId?: string;
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
  const shared = createCountsIn(database, 'unansweredAttempts', now);
  const own = createCountsIn(database, 'accountAttempts', now);

  const hash = (text: string) => createHmac('sha256', pepper).update(`unanswered attempts\n${text}`).digest('hex');

  /** The attempt's places: in the count of all accounts, and in that of its own. */
  async function placesOf({ to, accountId, ...dial }: Attempt) {
    const line = (await loadPlans()).withoutSurplusDigits(to);
    const member = memberOf(dial);
    const ofAll = { counts: shared, place: { _id: hash(line), member } };
    const ofOne =
      accountId === undefined ? [] : [{ counts: own, place: { _id: hash(`${accountId}\n${line}`), member } }];
    return { ofAll, ofOne, both: [...ofOne, ofAll] };
  }

  async function removeFromBoth(attempt: Attempt, options?: { forGood: boolean }): Promise<void> {
    const { both } = await placesOf(attempt);
    for (const { counts, place } of both) await counts.remove(place._id, place.member, options);
  }

  return {
    /** @returns false when the number has had as many, of all accounts or of this one */
    async count(attempt: Attempt, limit: number): Promise<boolean> {
      const { ofAll, ofOne } = await placesOf(attempt);
      for (const { counts, place } of ofOne) if (!(await counts.add(place, limit))) return false;
      if (await ofAll.counts.add(ofAll.place, limit)) return true;
      for (const { counts, place } of ofOne) await counts.remove(place._id, place.member);
      return false;
    },

    /** Whether {@link count} would let this attempt go on, as things stand. Counts nothing. */
    async hasRoom(attempt: Attempt, limit: number): Promise<boolean> {
      const { both } = await placesOf(attempt);
      const rooms = await Promise.all(
        both.map(({ counts, place }) => counts.hasRoom({ ...place, period: 'hour', limit })),
      );
      return !rooms.includes(false);
    },

    /** The number was not dialed. */
    notDialed: (attempt: Attempt) => removeFromBoth(attempt),

    /** Somebody answered. A repeat of the request that asked for the call does not count it again. */
    answered: (attempt: Attempt) => removeFromBoth(attempt, { forGood: true }),

    /** The phone hardly rang: the attempt is one of its account only, so that it keeps the number from nobody else. */
    async hardlyRang(attempt: Attempt): Promise<void> {
      const { ofAll } = await placesOf(attempt);
      await ofAll.counts.remove(ofAll.place._id, ofAll.place.member, { forGood: true });
    },
  };
}

function createCountsIn(database: TelephonyDatabase, model: 'unansweredAttempts' | 'accountAttempts', now: () => Date) {
  const documents = driverCollection<PeriodCountDocument>(database, database[model]);
  const counts = createPeriodCounts(documents, now);
  return {
    ...counts,
    async add(place: { _id: string; member: string }, limit: number): Promise<boolean> {
      const at = now().getTime();
      const [isCounted] = await Promise.all([
        counts.add({ ...place, period: 'hour', limit, fields: { expiresAt: new Date(at + KEPT_MS) } }),
        documents.deleteMany({ expiresAt: { $lt: new Date(at) } }),
      ]);
      return isCounted;
    },
  };
}
