import { shuffled } from '../../platform/shuffled.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { CheckDocument, CheckKind } from './model.js';

export type ReconciliationChecks = ReturnType<typeof createReconciliationChecks>;

/** Delay before the second check of a call; it doubles with each further attempt. */
const FIRST_PAUSE_MS = 20_000;
const LONGEST_PAUSE_MS = 30 * 60_000;

/** Calls that the reconciler must check again. */
export function createReconciliationChecks(database: CallsDatabase) {
  const { reconciliationChecks: checks } = database;

  const longestOverdue = (filter: object, limit: number) =>
    checks
      .find({ ...filter, dueAt: { $lte: new Date() } })
      .sort({ dueAt: 1, _id: 1 })
      .limit(limit)
      .lean<CheckDocument[]>()
      .exec();

  return {
    /** Adds a check, due at once, unless the call already has one of this kind. */
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

    /**
     * Due checks. Ledger accounts get equal shares, so that one with many checks does not delay the others; with more
     * accounts than `limit`, each query picks some at random. The longest overdue come first, alternating between
     * accounts.
     */
    async due(limit: number): Promise<CheckDocument[]> {
      const known = await checks.distinct('ledgerAccountId');
      const asked = shuffled(known.filter((id) => typeof id === 'string')).slice(0, limit);
      const share = Math.ceil(limit / Math.max(1, asked.length));
      const shares: CheckDocument[][] = [];
      for (const ledgerAccountId of asked) shares.push(await longestOverdue({ ledgerAccountId }, share));
      const taken = inTurns(shares).slice(0, limit);
      // Fill up the shares that some accounts did not use.
      const left = limit - taken.length;
      if (left === 0) return taken;
      return [...taken, ...(await longestOverdue({ _id: { $nin: taken.map(({ _id }) => _id) } }, left))];
    },

    /** Postpones a check, each time for longer. An invalid number of attempts counts as 0. */
    async postpone({ _id, attempts: made }: CheckDocument): Promise<void> {
      const attempts = Number.isSafeInteger(made) ? made : 0;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
      await checks.updateOne({ _id }, { $set: { attempts: attempts + 1, dueAt: new Date(Date.now() + pauseMs) } });
    },

    async remove({ _id }: Pick<CheckDocument, '_id'>): Promise<void> {
      await checks.deleteOne({ _id });
    },
  };
}

/** The first of each list, then the second of each, and so on. */
function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => lists.flatMap((list) => list.slice(n, n + 1))).flat();
}
