import type { mongo } from 'mongoose';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { PeriodCountDocument } from './model.js';

export type CountPeriod = 'hour' | 'day';

const MAX_ATTEMPTS = 20;
const PERIOD_LENGTH: Readonly<Record<CountPeriod, number>> = {
  hour: 'YYYY-MM-DDTHH'.length,
  day: 'YYYY-MM-DD'.length,
};

/**
 * Counts per hour or day (UTC): one document each, every change of it one guarded update, so that no burst slips through.
 * A member's name becomes a field's, so it must be one.
 */
export function createPeriodCounts(documents: mongo.Collection<PeriodCountDocument>, now: () => Date) {
  async function inserted(document: PeriodCountDocument): Promise<boolean> {
    try {
      await documents.insertOne(document);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  return {
    /**
     * Counts a member once, however often it is asked to.
     * @param p.fields what the document holds beside the count
     * @returns false when the limit is reached
     */
    async add(p: {
      _id: string;
      period: CountPeriod;
      limit: number;
      member: string;
      fields?: { expiresAt: Date };
    }): Promise<boolean> {
      const { _id, limit, member, fields = {} } = p;
      if (limit === 0) return false;
      const path = `calls.${member}` as const;
      let period = now().toISOString().slice(0, PERIOD_LENGTH[p.period]);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const counted = await documents.updateOne(
          { _id, period, [path]: { $exists: false }, count: { $lt: limit } },
          { $set: { [path]: true }, $inc: { count: 1 } },
        );
        if (counted.matchedCount === 1) return true;
        const found = await documents.findOne({ _id }, { projection: { period: 1, count: 1, [path]: 1 } });
        if (found?.calls?.[member] !== undefined) return true;
        const anew = { ...fields, period, count: 1, calls: { [member]: true } };
        if (found === null) {
          if (await inserted({ _id, ...anew })) return true;
        } else if (found.period < period) {
          const turned = await documents.updateOne({ _id, period: found.period }, { $set: anew });
          if (turned.matchedCount === 1) return true;
        } else if (found.period > period) {
          // A clock that is behind must not open a period again that is over.
          period = found.period;
        } else if (found.count >= limit) {
          return false;
        }
      }
      throw new Error('a count found no quiet moment');
    },

    /** Whether a member is counted, or would be. */
    async hasRoom(p: { _id: string; period: CountPeriod; limit: number; member: string }): Promise<boolean> {
      const { _id, limit, member } = p;
      if (limit === 0) return false;
      const projection = { period: 1, count: 1, [`calls.${member}`]: 1 };
      const found = await documents.findOne({ _id }, { projection });
      if (found === null || found.period < now().toISOString().slice(0, PERIOD_LENGTH[p.period])) return true;
      return found.calls?.[member] !== undefined || found.count < limit;
    },

    /** Takes a member out, once. With `forGood` it is not counted again in this period, should it be asked for. */
    async remove(_id: string, member: string, { forGood = false } = {}): Promise<void> {
      const path = `calls.${member}` as const;
      const gone = forGood ? { $set: { [path]: false } } : { $unset: { [path]: '' as const } };
      await documents.updateOne({ _id, [path]: true }, { ...gone, $inc: { count: -1 } });
    },
  };
}
