import { shuffled } from '../../platform/shuffled.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { CheckDocument, CheckKind } from './model.js';

export type ReconciliationChecks = ReturnType<typeof createReconciliationChecks>;

/** Delay before the second check of a call. It doubles with each further attempt. */
const FIRST_PAUSE_MS = 20_000;
const LONGEST_PAUSE_MS = 30 * 60_000;

/** Stores which calls the reconciler must check again. */
export function createReconciliationChecks(database: CallsDatabase) {
  const { reconciliationChecks: checks } = database;

  const findOverdue = (filter: object, limit: number) =>
    checks
      .find({ ...filter, dueAt: { $lte: new Date() } })
      .sort({ dueAt: 1, _id: 1 })
      .limit(limit)
      .lean<CheckDocument[]>()
      .exec();

  return {
    /** Adds a check, unless the call already has one of this kind. It is due at once, or after `afterMs`. */
    async add(
      kind: CheckKind,
      call: { callId: string; ledgerAccountId: string },
      { afterMs = 0 }: { afterMs?: number } = {},
    ): Promise<void> {
      const { callId, ledgerAccountId } = call;
      const _id = `${kind}:${callId}`;
      if (await checks.exists({ _id })) return;
      const addedAt = new Date();
      const dueAt = new Date(addedAt.getTime() + afterMs);
      try {
        await checks.create({ _id, kind, callId, ledgerAccountId, attempts: 0, dueAt, addedAt });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /**
     * Returns the checks that are due, longest overdue first, alternating between ledger accounts. Accounts get equal
     * shares, so that one with many checks does not delay the others. If more accounts than `limit` have checks, each
     * query picks some of them at random.
     * @param which checks of the kind `retention`, which can wait, or all others
     */
    async due(limit: number, which: 'retention' | 'others' = 'others'): Promise<CheckDocument[]> {
      const kind = which === 'retention' ? 'retention' : { $ne: 'retention' };
      const accountIds = await checks.distinct('ledgerAccountId');
      const accounts = shuffled(accountIds.filter((id) => typeof id === 'string')).slice(0, limit);
      const share = Math.ceil(limit / Math.max(1, accounts.length));
      const shares: CheckDocument[][] = [];
      for (const ledgerAccountId of accounts) shares.push(await findOverdue({ ledgerAccountId, kind }, share));
      const selected = interleave(shares).slice(0, limit);
      // Use the shares that some accounts left free for checks of other accounts.
      const free = limit - selected.length;
      if (free === 0) return selected;
      return [...selected, ...(await findOverdue({ kind, _id: { $nin: selected.map(({ _id }) => _id) } }, free))];
    },

    /** Postpones a check, longer with each attempt. An invalid number of attempts counts as 0. */
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

/** Returns the first item of each list, then the second of each, and so on. */
function interleave<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => lists.flatMap((list) => list.slice(n, n + 1))).flat();
}
