import { createSums, EMPTY_SUMS } from './sums.js';
import type { LedgerSession } from './storage.js';
import type { LedgerCheckpointDocument, LedgerSums } from './model.js';

/** A step of an audit or a recount reads this many old entries at most. An epoch has fewer, so each step makes progress. */
export const ENTRIES_PER_STEP = 5_000;

/**
 * Adds the next entries to sums, whole epochs only.
 * @param from sums of the entries before their epoch
 * @param p.before the epoch at which to stop. Its predecessors must get no further entries.
 * @returns the sums, with the first epoch that they do not contain
 */
export async function countEntries(
  session: LedgerSession,
  ledgerAccountId: string,
  from: LedgerSums,
  p: { before: number; spendDay: number; most: number },
): Promise<LedgerSums> {
  const sums = createSums(from, p.spendDay);
  if (from.epoch >= p.before) return sums.read(p.before);
  const epochs = { from: from.epoch, before: p.before };
  const entries = await session.firstEntriesOf(ledgerAccountId, { ...epochs, most: p.most });
  // The last epoch may have further entries, which the next step reads together.
  const next = entries.length < p.most ? p.before : (entries.at(-1)?.epoch ?? p.before);
  if (next === from.epoch) {
    // Only a fault fills an epoch with more entries than a step reads. It is read as a whole, so that the count continues.
    for await (const entry of session.entriesOf(ledgerAccountId, { from: next, before: next + 1 })) sums.add(entry);
    return sums.read(next + 1);
  }
  for (const entry of entries) if (entry.epoch < next) sums.add(entry);
  return sums.read(next);
}

/**
 * Begins to count the operations of an account from its entries, in steps that a checkpoint stores. No earlier sums are
 * used, because they may be wrong. A step that began with those changes nothing, because the count has a new generation.
 * @param former the checkpoint that the count replaces, or only the account's id
 * @param counted what the first step has counted
 */
export async function beginCount(
  session: LedgerSession,
  former: Pick<LedgerCheckpointDocument, '_id' | 'generation'>,
  counted: LedgerSums = EMPTY_SUMS,
): Promise<LedgerCheckpointDocument> {
  const { _id, generation } = former;
  const count: LedgerCheckpointDocument = { _id, ...counted, generation: (generation ?? 0) + 1, counting: true };
  await session.replaceCheckpoint(count, { generation });
  return count;
}
