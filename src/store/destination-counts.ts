import type { CountedCap } from '../domain/destinations.js';
import { CALL_ID_PATTERN, type Mode } from '../domain/ids.js';
import { isDuplicateKey, type Database } from './database.js';
import type { DestinationCountDocument } from './models/destination-count.js';

export type DestinationCounts = ReturnType<typeof createDestinationCounts>;

/** A call to count, and the caps it counts against. */
export interface CountedCall {
  accountId: string;
  mode: Mode;
  callId: string;
  caps: readonly CountedCap[];
}

const MAX_ATTEMPTS = 20;
const PERIOD_LENGTH: Readonly<Record<CountedCap['period'], number>> = {
  hour: 'YYYY-MM-DDTHH'.length,
  day: 'YYYY-MM-DD'.length,
};

/** Calls per prefix and hour or day (UTC): one document each, every change of it one guarded update. */
export function createDestinationCounts(database: Database, options: { now?: () => Date } = {}) {
  const now = options.now ?? (() => new Date());
  // The driver's own collection: mongoose would cast away fields whose names are call ids.
  const db = database.connection.getClient().db(database.connection.name);
  const documents = db.collection<DestinationCountDocument>(database.destinationCounts.collection.collectionName);

  /** Counts the call once, however often it is asked to; false when the cap is reached. */
  async function countOne(call: CountedCall, cap: CountedCap): Promise<boolean> {
    if (cap.limit === 0) return false;
    const _id = idOf(call, cap);
    const path = pathOf(call.callId);
    let period = now().toISOString().slice(0, PERIOD_LENGTH[cap.period]);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const counted = await documents.updateOne(
        { _id, period, [path]: { $exists: false }, count: { $lt: cap.limit } },
        { $set: { [path]: true }, $inc: { count: 1 } },
      );
      if (counted.matchedCount === 1) return true;
      const found = await documents.findOne({ _id }, { projection: { period: 1, count: 1, [path]: 1 } });
      if (found?.calls?.[call.callId]) return true;
      const anew = { period, count: 1, calls: { [call.callId]: true as const } };
      if (found === null) {
        if (await inserted({ _id, ...anew })) return true;
      } else if (found.period < period) {
        const turned = await documents.updateOne({ _id, period: found.period }, { $set: anew });
        if (turned.matchedCount === 1) return true;
      } else if (found.period > period) {
        // A clock that is behind must not open a period again that is over.
        period = found.period;
      } else if (found.count >= cap.limit) {
        return false;
      }
    }
    throw new Error('the count of a destination found no quiet moment');
  }

  async function inserted(document: DestinationCountDocument): Promise<boolean> {
    try {
      await documents.insertOne(document);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Takes the call out of the counts, once: it was not placed. */
  async function release(call: CountedCall): Promise<void> {
    const path = pathOf(call.callId);
    for (const cap of call.caps) {
      await documents.updateOne(
        { _id: idOf(call, cap), [path]: { $exists: true } },
        { $unset: { [path]: '' }, $inc: { count: -1 } },
      );
    }
  }

  return {
    /**
     * Counts a call against every cap, or none.
     * @returns the cap that is reached; undefined when the call is counted
     */
    async count(call: CountedCall): Promise<CountedCap | undefined> {
      for (const cap of call.caps) {
        if (await countOne(call, cap)) continue;
        await release(call);
        return cap;
      }
      return undefined;
    },

    release,
  };
}

function idOf({ accountId, mode }: CountedCall, { prefix, period }: CountedCap): string {
  return `${accountId}~${mode}~${prefix}~${period}`;
}

/** The call id becomes a field name, so it must be one. */
function pathOf(callId: string): `calls.${string}` {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('not a call id');
  return `calls.${callId}`;
}
