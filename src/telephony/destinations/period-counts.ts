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
 * Counts per UTC hour or day: one document each, and every change is one guarded update, so that a burst of requests
 * cannot exceed a limit. Member names become field names, so they must be valid ones.
 */
export function createPeriodCounts(documents: mongo.Collection<PeriodCountDocument>, now: () => Date) {
  return {
    /**
     * Counts a member once, even if it is added repeatedly.
     * @param p.by what the member counts; 1 unless given. The limit may be exceeded by the last member's.
     * @param p.fields further fields of the document
     * @returns false when the limit is reached
     */
    async add(p: {
      _id: string;
      period: CountPeriod;
      limit: number;
      member: string;
      by?: number;
      fields?: { expiresAt: Date };
    }): Promise<boolean> {
      const { _id, limit, member, by = 1, fields = {} } = p;
      if (limit === 0) return false;
      const path = `calls.${member}` as const;
      const current = now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
      const countingIn = (period: string): CountDecision => ({
        answer: true,
        when: { period, [path]: { $exists: false }, count: { $lt: limit } },
        update: { $set: { [path]: true }, $inc: { count: by } },
      });
      const decide = (found: PeriodCountDocument | null): CountDecision => {
        if (found?.calls?.[member] !== undefined) return { answer: true };
        const anew = { ...fields, period: current, count: by, calls: { [member]: true } };
        if (found === null) return { answer: true, insert: { _id, ...anew } };
        if (found.period < current) return { answer: true, when: { period: found.period }, update: { $set: anew } };
        // If this clock is behind, count in the stored later period instead of reopening an earlier one.
        return found.count >= limit ? { answer: false } : countingIn(found.period);
      };
      const projection = { period: 1, count: 1, [path]: 1 } as const;
      const { collectionName: name } = documents;
      return optimisticUpdate(documents, _id, decide, { name, blind: countingIn(current), projection });
    },

    /** Whether a member is already counted, or could be. */
    async hasRoom(p: { _id: string; period: CountPeriod; limit: number; member: string }): Promise<boolean> {
      const { _id, limit, member } = p;
      if (limit === 0) return false;
      const projection = { period: 1, count: 1, [`calls.${member}`]: 1 };
      const found = await documents.findOne({ _id }, { projection });
      if (found === null || found.period < now().toISOString().slice(0, PERIOD_LENGTH[p.period])) return true;
      return found.calls?.[member] !== undefined || found.count < limit;
    },

    /**
     * Removes a member, once. With `forGood` it cannot be counted again in this period.
     * @param by as it was added
     */
    async remove(_id: string, member: string, { forGood = false, by = 1 } = {}): Promise<void> {
      const path = `calls.${member}` as const;
      const gone = forGood ? { $set: { [path]: false } } : { $unset: { [path]: '' as const } };
      await documents.updateOne({ _id, [path]: true }, { ...gone, $inc: { count: -by } });
    },
  };
}
