import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { createHmac } from 'node:crypto';
import type { NumberingPlans } from '../../kernel/destinations/destinations.js';
import type { TelephonyDatabase } from '../database.js';
import { memberOf, type Leg } from './dial-legs.js';
import type { PeriodCountDocument } from './model.js';
import { createPeriodCounts } from './period-counts.js';

/** One attempt to reach a number. */
export interface Attempt {
  callId: string;
  leg: Leg;
  to: string;
  /** The account that dials; absent: only the count of all accounts together applies. */
  accountId?: string;
}

export type UnansweredAttempts = ReturnType<typeof createUnansweredAttempts>;

/** By then the hour is over, unless a clock is off by more than an hour. */
const KEPT_MS = 2 * 60 * 60 * 1_000;

/**
 * Unanswered dials per number and UTC hour, for all accounts together, because they all ring the same person's phone. A
 * dial counts from right before the request to the carrier, under the number without surplus digits, since those ring
 * the same phone. A dial without a known outcome, because a process died, counts until the hour ends. Numbers are
 * stored only as HMACs under the pepper, for two hours.
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

  /** The attempt's entries in the shared count and in the count of its account. */
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
    /** @returns false when the number has had its attempts, from all accounts or from this one */
    async count(attempt: Attempt, limit: number): Promise<boolean> {
      const { ofAll, ofOne } = await placesOf(attempt);
      for (const { counts, place } of ofOne) if (!(await counts.add(place, limit))) return false;
      if (await ofAll.counts.add(ofAll.place, limit)) return true;
      for (const { counts, place } of ofOne) await counts.remove(place._id, place.member);
      return false;
    },

    /** Whether {@link count} would currently allow this attempt. Counts nothing. */
    async hasRoom(attempt: Attempt, limit: number): Promise<boolean> {
      const { both } = await placesOf(attempt);
      const rooms = await Promise.all(
        both.map(({ counts, place }) => counts.hasRoom({ ...place, period: 'hour', limit })),
      );
      return !rooms.includes(false);
    },

    /** The number was not dialed. */
    notDialed: (attempt: Attempt) => removeFromBoth(attempt),

    /** The call was answered. A retried call request does not count it again. */
    answered: (attempt: Attempt) => removeFromBoth(attempt, { forGood: true }),

    /**
     * The phone hardly rang: from now on the attempt counts only for its account, so that it does not block other
     * accounts.
     */
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
