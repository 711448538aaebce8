import { areSameSums, createSums, EMPTY_SUMS } from './sums.js';
import type { LedgerSession } from './storage.js';
import type { LedgerCheckpointDocument, LedgerRecount, LedgerSums } from './model.js';

/** A step reads this many entries at most. An epoch has fewer, so each step makes progress. */
export const RECOUNT_ENTRIES = 5_000;
/** A recount begins this long after the end of the one before. */
const RECOUNT_EVERY_MS = 24 * 60 * 60_000;

/**
 * Takes the next step of counting the entries of an account's checkpoint again. Audits trust a checkpoint, so without this
 * a lost or changed old entry would stay unnoticed.
 * @param p.now ms since the epoch
 * @returns false if the entries do not have the checkpoint's sums. The checkpoint is then removed.
 */
export async function recountCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  p: { now: number; most: number },
): Promise<boolean> {
  const checkpoint = await session.findCheckpoint(ledgerAccountId);
  if (checkpoint === null || !isDue(checkpoint, p.now)) return true;
  const { counted, expected } = checkpoint.recount ?? { counted: EMPTY_SUMS, expected: sumsOf(checkpoint) };
  const sums = createSums(counted, expected.spendDay);
  const epochs = { from: counted.epoch, before: expected.epoch };
  const entries = await session.firstEntriesOf(ledgerAccountId, { ...epochs, most: p.most });
  // The last epoch may have further entries, which the next step reads together.
  const next = entries.length < p.most ? expected.epoch : (entries.at(-1)?.epoch ?? expected.epoch);
  for (const entry of entries) if (entry.epoch < next) sums.add(entry);
  const recount: LedgerRecount = { counted: sums.read(next), expected };
  if (next < expected.epoch) {
    await session.saveRecount(ledgerAccountId, recount, new Date(p.now));
    return true;
  }
  const isSame = areSameSums(recount.counted, expected);
  if (isSame) await session.saveRecount(ledgerAccountId, null, new Date(p.now));
  else await session.removeCheckpoint(ledgerAccountId);
  return isSame;
}

function isDue({ recount, recountedAt }: LedgerCheckpointDocument, now: number): boolean {
  return recount !== undefined || recountedAt === undefined || now - recountedAt.getTime() >= RECOUNT_EVERY_MS;
}

function sumsOf(checkpoint: LedgerCheckpointDocument): LedgerSums {
  const names = Object.keys(EMPTY_SUMS) as (keyof LedgerSums)[];
  return Object.fromEntries(names.map((name) => [name, checkpoint[name]])) as Record<keyof LedgerSums, number>;
}
