import { isFinalStatus } from '../../kernel/call-state.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallDocument } from '../call-model.js';
import type { CallsDatabase } from '../database.js';
import type { CallSearch } from '../search/call-search.js';

/** Sequence of a tombstone: higher than any workflow reaches. */
export const TOMBSTONE_SEQUENCE = Number.MAX_SAFE_INTEGER;

/** Replaces documents of calls with tombstones, as a part of the projection. */
export function createTombstones({ calls, search }: { calls: CallsDatabase['calls']; search: CallSearch }) {
  return {
    /**
     * Replaces the call with a tombstone. No account finds a tombstone, and a late first write cannot recreate the
     * call. A tombstone that has the call's bill stays.
     */
    async writeTombstone(callId: string): Promise<void> {
      try {
        await calls.collection.replaceOne(
          { _id: callId as never, owner: { $exists: false } },
          { sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date() },
          { upsert: true },
        );
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /**
     * Replaces an ended call with a tombstone that has its owner, status and bill. Safe to repeat.
     * @throws Error if the call changes at the same time, or has not ended
     */
    async expire(callId: string): Promise<void> {
      const call = await calls.findById(callId).lean<CallDocument>();
      if (!call?.accountId) return;
      const { sequence, accountId, mode, agentId, status, durationSeconds, costMicros } = call;
      if (!isFinalStatus(status)) throw new Error('A call past its retention has not ended.');
      await search.remove(callId);
      const bill = {
        ...(durationSeconds === undefined ? {} : { durationSeconds }),
        ...(costMicros === undefined ? {} : { costMicros }),
      };
      const { modifiedCount } = await calls.collection.replaceOne(
        { _id: callId as never, sequence },
        { sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date(), owner: { accountId, mode }, agentId, status, ...bill },
      );
      if (modifiedCount === 0) throw new Error('A call changed while it was deleted.');
    },
  };
}
