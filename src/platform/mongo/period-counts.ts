import type { mongo } from 'mongoose';
import type { ContendedName } from '../telemetry/measurements.js';
import { optimisticUpdate, type UpdateDecision } from './optimistic-update.js';

type CountPeriod = 'hour' | 'day';

/** A count for one hour or day. When something is counted in a later hour or day, the count starts from 0. */
export interface PeriodCountDocument {
  _id: string;
  /** The counted hour or day in UTC: `2026-11-21T10` or `2026-11-21`. */
  period: string;
  count: number;
  /**
   * Everything that is counted, such as calls by their ids, so that each counts once. False: removed from the count,
   * and not counted again in this period. A number: an amount that grows, such as the cost of a stream that continues.
   */
  calls: Record<string, boolean | number>;
  expiresAt?: Date;
}

/** One member of one count. */
interface Count {
  _id: string;
  period: CountPeriod;
  member: string;
}

interface Addition extends Count {
  limit: number;
  /** Stored for the member. */
  value: true | number;
  /** The value that is stored for the member as far as the caller knows. */
  expected?: number | undefined;
  /** Returns the amount to add if `known` is stored for the member; undefined if it is counted already. */
  amountFor: (known: number | undefined) => number | undefined;
  fields?: { expiresAt: Date };
}

type CountDecision = UpdateDecision<PeriodCountDocument, boolean>;

const PERIOD_LENGTH: Readonly<Record<CountPeriod, number>> = {
  hour: 'YYYY-MM-DDTHH'.length,
  day: 'YYYY-MM-DD'.length,
};

/**
 * Counts per UTC hour or day. Each count is one document, and every change is one guarded update, so that a burst of
 * requests cannot exceed a limit. The name of each counted member, such as a call, becomes a field name of the document
 * and must be a valid one.
 */
export function createPeriodCounts(documents: mongo.Collection<PeriodCountDocument>, now: () => Date) {
  const name = documents.collectionName as ContendedName;
  /** Reads a count, and whether a member is counted already. */
  async function read(p: Count): Promise<{ isCounted: boolean; count: number }> {
    const { _id, member } = p;
    const projection = { period: 1, count: 1, [`calls.${member}`]: 1 };
    const found = await documents.findOne({ _id }, { projection });
    const isCurrent = found !== null && found.period >= now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
    return isCurrent
      ? { isCounted: found.calls?.[member] !== undefined, count: found.count }
      : { isCounted: false, count: 0 };
  }

  /**
   * Counts a member. A member that an earlier period has counted is not counted again.
   * @returns false when the limit is reached
   */
  async function countMember(p: Addition): Promise<boolean> {
    const { _id, limit, member, value, amountFor } = p;
    if (limit === 0) return false;
    const path = `calls.${member}` as const;
    const current = now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
    const countingIn = (period: string, known: number | undefined, amount: number): CountDecision => ({
      answer: true,
      when: { period, [path]: known ?? { $exists: false }, count: { $lt: limit } },
      update: { $set: { [path]: value }, $inc: { count: amount } },
    });
    const decide = (found: PeriodCountDocument | null): CountDecision => {
      const known = found?.calls?.[member];
      const amount = typeof known === 'boolean' ? undefined : amountFor(known);
      // A boolean was counted once and for all.
      if (amount === undefined || typeof known === 'boolean') return { answer: true };
      const newPeriod = { ...p.fields, period: current, count: amount, calls: { [member]: value } };
      if (found === null) return { answer: true, insert: { _id, ...newPeriod } };
      if (found.period < current) return { answer: true, when: { period: found.period }, update: { $set: newPeriod } };
      // If this process's clock is late, count in the stored later period instead of going back to an earlier one.
      return found.count >= limit ? { answer: false } : countingIn(found.period, known, amount);
    };
    const projection = { period: 1, count: 1, [path]: 1 } as const;
    const expectedAmount = amountFor(p.expected);
    if (expectedAmount === undefined) return true;
    const blind = countingIn(current, p.expected, expectedAmount);
    return optimisticUpdate(documents, _id, decide, { name, blind, projection });
  }

  return {
    /**
     * Counts a member, such as a call, once, even if it is added repeatedly.
     * @param p.amount amount to add; 1 by default. The last member that is counted may exceed the limit.
     * @param p.fields further fields of the document
     * @returns false when the limit is reached and the member is not counted yet
     */
    add: (p: Count & { limit: number; amount?: number; fields?: { expiresAt: Date } }): Promise<boolean> => {
      const { amount = 1 } = p;
      const amountFor = (known: number | undefined) => (known === undefined ? amount : undefined);
      return countMember({ ...p, value: true, amountFor });
    },

    /**
     * Raises the amount of a member, such as the cost of a stream that continues, to a total. A total that is not
     * higher than the counted one changes nothing, so repeated and late reports are harmless.
     * @param p.counted the total that the caller has counted so far. If another period has begun since, it has only
     * the rest.
     * @param p.limit none by default; the last raise before the limit may exceed it
     * @returns false when the limit is reached
     */
    raise: (p: Count & { total: number; counted: number; limit?: number }): Promise<boolean> => {
      const { total, counted, limit = Number.MAX_SAFE_INTEGER } = p;
      return countMember({
        ...p,
        limit,
        value: total,
        expected: counted === 0 ? undefined : counted,
        amountFor: (known) => (known !== undefined && known >= total ? undefined : total - (known ?? counted)),
      });
    },

    /** Whether a member is counted already, or could be counted now. */
    async hasRoom(p: Count & { limit: number }): Promise<boolean> {
      if (p.limit === 0) return false;
      const { isCounted, count } = await read(p);
      return isCounted || count < p.limit;
    },

    read,

    /**
     * Removes a member, such as a call, from the count, once. With `permanently` it cannot be counted again in this
     * period.
     * @param amount the amount that was added
     */
    async remove(_id: string, member: string, { permanently = false, amount = 1 } = {}): Promise<void> {
      const path = `calls.${member}` as const;
      const removal = permanently ? { $set: { [path]: false } } : { $unset: { [path]: '' as const } };
      await documents.updateOne({ _id, [path]: true }, { ...removal, $inc: { count: -amount } });
    },
  };
}
