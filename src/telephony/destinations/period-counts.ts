import type { mongo } from 'mongoose';
import { optimisticUpdate, type UpdateDecision } from '../../platform/mongo/optimistic-update.js';
import type { PeriodCountDocument } from './model.js';

export type CountPeriod = 'hour' | 'day';

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
  /** Reads a count, and whether a member is counted already. */
  async function read(p: {
    _id: string;
    period: CountPeriod;
    member: string;
  }): Promise<{ isCounted: boolean; count: number }> {
    const { _id, member } = p;
    const projection = { period: 1, count: 1, [`calls.${member}`]: 1 };
    const found = await documents.findOne({ _id }, { projection });
    const isCurrent = found !== null && found.period >= now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
    return isCurrent
      ? { isCounted: found.calls?.[member] !== undefined, count: found.count }
      : { isCounted: false, count: 0 };
  }

  return {
    /**
     * Counts a member, such as a call, once, even if it is added repeatedly.
     * @param p.amount amount to add; 1 by default. The last member that is counted may exceed the limit.
     * @param p.fields further fields of the document
     * @returns false when the limit is reached
     */
    async add(p: {
      _id: string;
      period: CountPeriod;
      limit: number;
      member: string;
      amount?: number;
      fields?: { expiresAt: Date };
    }): Promise<boolean> {
      const { _id, limit, member, amount = 1, fields = {} } = p;
      if (limit === 0) return false;
      const path = `calls.${member}` as const;
      const current = now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
      const countingIn = (period: string): CountDecision => ({
        answer: true,
        when: { period, [path]: { $exists: false }, count: { $lt: limit } },
        update: { $set: { [path]: true }, $inc: { count: amount } },
      });
      const decide = (found: PeriodCountDocument | null): CountDecision => {
        if (found?.calls?.[member] !== undefined) return { answer: true };
        const newPeriod = { ...fields, period: current, count: amount, calls: { [member]: true } };
        if (found === null) return { answer: true, insert: { _id, ...newPeriod } };
        if (found.period < current)
          return { answer: true, when: { period: found.period }, update: { $set: newPeriod } };
        // If this process's clock is late, count in the stored later period instead of going back to an earlier one.
        return found.count >= limit ? { answer: false } : countingIn(found.period);
      };
      const projection = { period: 1, count: 1, [path]: 1 } as const;
      const { collectionName: name } = documents;
      return optimisticUpdate(documents, _id, decide, { name, blind: countingIn(current), projection });
    },

    /**
     * Raises the amount of a member, such as the cost of a stream that continues, to a total. A total that is not
     * higher than the counted one changes nothing, so repeated and late reports are harmless.
     * @param p.counted the total that the caller has counted so far. If another period has begun since, it has only
     * the rest.
     * @param p.limit none by default; the last raise before the limit may exceed it
     * @returns false when the limit is reached
     */
    async raise(p: {
      _id: string;
      period: CountPeriod;
      member: string;
      total: number;
      counted: number;
      limit?: number;
    }): Promise<boolean> {
      const { _id, member, total, counted, limit = Number.MAX_SAFE_INTEGER } = p;
      if (limit === 0) return false;
      const path = `calls.${member}` as const;
      const current = now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
      const raising = (period: string, from: number | undefined): CountDecision => ({
        answer: true,
        when: { period, [path]: from ?? { $exists: false }, count: { $lt: limit } },
        update: { $set: { [path]: total }, $inc: { count: total - (from ?? counted) } },
      });
      const decide = (found: PeriodCountDocument | null): CountDecision => {
        const newPeriod = { period: current, count: total - counted, calls: { [member]: total } };
        if (found === null) return { answer: true, insert: { _id, ...newPeriod } };
        if (found.period < current)
          return { answer: true, when: { period: found.period }, update: { $set: newPeriod } };
        const known = found.calls?.[member];
        // A boolean was counted once and for all.
        if (typeof known === 'boolean' || (known !== undefined && known >= total)) return { answer: true };
        return found.count >= limit ? { answer: false } : raising(found.period, known);
      };
      const blind = raising(current, counted === 0 ? undefined : counted);
      const projection = { period: 1, count: 1, [path]: 1 } as const;
      return optimisticUpdate(documents, _id, decide, { name: documents.collectionName, blind, projection });
    },

    /** Whether a member is counted already, or could be counted now. */
    async hasRoom(p: { _id: string; period: CountPeriod; limit: number; member: string }): Promise<boolean> {
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
