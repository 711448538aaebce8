import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { CheckDocument, CheckKind } from './model.js';

export type ReconciliationChecks = ReturnType<typeof createReconciliationChecks>;

/** A call that could not be finished is looked at again after this long, then each time after twice as long. */
const FIRST_PAUSE_MS = 20_000;
const LONGEST_PAUSE_MS = 30 * 60_000;

/** Calls that the reconciler must look at again. */
export function createReconciliationChecks(database: CallsDatabase) {
  const { reconciliationChecks: checks } = database;
  return {
    /** Notes a call, unless it is noted. */
    async add(kind: CheckKind, call: { callId: string; ledgerAccountId: string }): Promise<void> {
      const { callId, ledgerAccountId } = call;
      const _id = `${kind}:${callId}`;
      if (await checks.exists({ _id })) return;
      const now = new Date();
      try {
        await checks.create({ _id, kind, callId, ledgerAccountId, attempts: 0, dueAt: now, addedAt: now });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** Those that are due, the longest overdue first. */
    due(limit: number): Promise<CheckDocument[]> {
      return checks
        .find({ dueAt: { $lte: new Date() } })
        .sort({ dueAt: 1, _id: 1 })
        .limit(limit)
        .lean<CheckDocument[]>()
        .exec();
    },

    async postpone({ _id, attempts }: CheckDocument): Promise<void> {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
      await checks.updateOne({ _id }, { $set: { attempts: attempts + 1, dueAt: new Date(Date.now() + pauseMs) } });
    },

    async remove({ _id }: Pick<CheckDocument, '_id'>): Promise<void> {
      await checks.deleteOne({ _id });
    },
  };
}
