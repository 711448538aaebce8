import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { CountedCap } from '../../kernel/destinations/destinations.js';
import type { Mode } from '../../kernel/ids.js';
import type { TelephonyDatabase } from '../database.js';
import { dialFieldName, type Leg } from './dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';

export type DestinationCounts = ReturnType<typeof createDestinationCounts>;

/** A dial and the caps that apply to it. */
export interface CountedCall {
  accountId: string;
  mode: Mode;
  callId: string;
  /** Whether the callee or a transfer target is dialed; by default the callee. */
  leg?: Leg;
  caps: readonly CountedCap[];
}

/** Counts dials per account, mode, destination prefix and UTC hour or day. */
export function createDestinationCounts(database: TelephonyDatabase, options: { now?: () => Date } = {}) {
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const counts = createPeriodCounts(documents, options.now ?? (() => new Date()));

  /** Removes a dial from the counts, once, because it was not placed. */
  async function release(call: CountedCall): Promise<void> {
    for (const cap of call.caps) await counts.remove(idOf(call, cap), dialFieldName(call));
  }

  return {
    /**
     * Counts a dial against all of its caps. If one of them is reached, counts it against none.
     * @returns the cap that is reached; undefined when the dial is counted
     */
    async count(call: CountedCall): Promise<CountedCap | undefined> {
      for (const cap of call.caps) {
        const { period, limit } = cap;
        if (await counts.add({ _id: idOf(call, cap), period, limit, member: dialFieldName(call) })) continue;
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
