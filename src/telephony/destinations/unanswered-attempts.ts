import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { createHmac } from 'node:crypto';
import type { NumberingPlans } from '../../kernel/destinations/destinations.js';
import type { TelephonyDatabase } from '../database.js';
import { dialFieldName, type Leg } from './dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';

/** One attempt to reach a number. */
export interface DialAttempt {
  callId: string;
  leg: Leg;
  to: string;
  /** The account that dials. Absent: only the count of all accounts together applies. */
  accountId?: string;
}

export type UnansweredAttempts = ReturnType<typeof createUnansweredAttempts>;

/**
 * Number of the attempts of all accounts that an account leaves to others once it has tried the number in this hour.
 * Otherwise a single account could make a number uncallable for all others.
 */
const LEFT_TO_OTHERS = 2;

/** How long counts are stored. The hour is over by then, unless a clock is wrong by more than an hour. */
const RETENTION_MS = 2 * 60 * 60 * 1_000;

/**
 * Counts unanswered dials per number and UTC hour, for all accounts together, because they all ring the same phone. A
 * dial counts from right before the request to the carrier. It counts for the number without surplus digits, because
 * networks ignore those. If a process dies and the outcome stays unknown, the dial counts until the hour ends. Numbers
 * are stored only as HMACs under the pepper, for two hours.
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

  /** Returns where the attempt is counted: in the shared count and in that of its account. */
  async function entriesOf({ to, accountId, ...dial }: DialAttempt) {
    const line = (await loadPlans()).withoutSurplusDigits(to);
    const member = dialFieldName(dial);
    const sharedEntry = { counts: shared, entry: { _id: hash(line), member } };
    const ownEntries =
      accountId === undefined ? [] : [{ counts: own, entry: { _id: hash(`${accountId}\n${line}`), member } }];
    return { sharedEntry, ownEntries, allEntries: [...ownEntries, sharedEntry] };
  }

  async function removeFromBoth(attempt: DialAttempt, options?: { permanently: boolean }): Promise<void> {
    const { allEntries } = await entriesOf(attempt);
    for (const { counts, entry } of allEntries) await counts.remove(entry._id, entry.member, options);
  }

  return {
    /** Deletes the counts of a number: that of all accounts together, and those of these accounts. */
    async forget(to: string, accountIds: readonly string[]): Promise<void> {
      const line = (await loadPlans()).withoutSurplusDigits(to);
      await shared.delete(hash(line));
      for (const accountId of accountIds) await own.delete(hash(`${accountId}\n${line}`));
    },

    /**
     * Counts an attempt. The first attempt of an account may use all attempts of the number, and further ones all but
     * the last two.
     * @returns false when the number has had its maximum of attempts, from all accounts or from this one
     */
    async count(attempt: DialAttempt, limit: number): Promise<boolean> {
      const { sharedEntry, ownEntries } = await entriesOf(attempt);
      let allowed = limit;
      for (const { counts, entry } of ownEntries) {
        if (await counts.add(entry, Math.min(limit, 1))) continue;
        allowed = limitOfFurther(limit);
        if (!(await counts.add(entry, allowed))) return false;
      }
      if (await sharedEntry.counts.add(sharedEntry.entry, allowed)) return true;
      for (const { counts, entry } of ownEntries) await counts.remove(entry._id, entry.member);
      return false;
    },

    /** Whether {@link count} would allow this attempt now. Counts nothing. */
    async hasRoom(attempt: DialAttempt, limit: number): Promise<boolean> {
      const { ownEntries, allEntries } = await entriesOf(attempt);
      const reads = await Promise.all(allEntries.map(({ counts, entry }) => counts.read({ ...entry, period: 'hour' })));
      const isFurther = reads.slice(0, ownEntries.length).some(({ isCounted, count }) => !isCounted && count > 0);
      const allowed = isFurther ? limitOfFurther(limit) : limit;
      return allowed > 0 && reads.every(({ isCounted, count }) => isCounted || count < allowed);
    },

    /** Call this when the number was not dialed. */
    markNotDialed: (attempt: DialAttempt) => removeFromBoth(attempt),

    /** Call this when the call was answered. If the call request is retried, the attempt is not counted again. */
    markAnswered: (attempt: DialAttempt) => removeFromBoth(attempt, { permanently: true }),

    /**
     * Call this when the phone hardly rang. From then on, the attempt counts only for its account, so that it does not
     * block other accounts.
     */
    async markHardlyRung(attempt: DialAttempt): Promise<void> {
      const { sharedEntry } = await entriesOf(attempt);
      await sharedEntry.counts.remove(sharedEntry.entry._id, sharedEntry.entry.member, { permanently: true });
    },
  };
}

/** Returns the limit of attempts for an account that has tried the number before in this hour. */
function limitOfFurther(limit: number): number {
  return Math.max(Math.min(limit, 1), limit - LEFT_TO_OTHERS);
}

function createCountsIn(database: TelephonyDatabase, model: 'unansweredAttempts' | 'accountAttempts', now: () => Date) {
  const documents = driverCollection<PeriodCountDocument>(database, database[model]);
  const counts = createPeriodCounts(documents, now);
  return {
    ...counts,
    async delete(id: string): Promise<void> {
      await documents.deleteOne({ _id: id });
    },
    async add(entry: { _id: string; member: string }, limit: number): Promise<boolean> {
      const at = now().getTime();
      const [isCounted] = await Promise.all([
        counts.add({ ...entry, period: 'hour', limit, fields: { expiresAt: new Date(at + RETENTION_MS) } }),
        documents.deleteMany({ expiresAt: { $lt: new Date(at) } }),
      ]);
      return isCounted;
    },
  };
}
