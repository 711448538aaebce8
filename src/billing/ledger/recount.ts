import { beginCount, countEntries } from './counting.js';
import { areSameSums, EMPTY_SUMS, sumsOf } from './sums.js';
import type { LedgerSession } from './storage.js';
import type { LedgerCheckpointDocument, LedgerRecount } from './model.js';

/** A recount begins this long after the end of the one before. */
const RECOUNT_EVERY_MS = 24 * 60 * 60_000;

/**
 * Takes the next step of counting the entries of an account's checkpoint again. Audits trust a checkpoint, so without this
 * a lost or changed old entry would stay unnoticed.
 * @param p.now ms since the epoch
 * @returns false if the entries do not have the checkpoint's sums. The next audits then count all entries.
 */
export async function recountCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  p: { now: number; most: number },
): Promise<boolean> {
  const checkpoint = await session.findCheckpoint(ledgerAccountId);
  if (checkpoint === null || checkpoint.counting || !isDue(checkpoint, p.now)) return true;
  const { counted: before, expected } = checkpoint.recount ?? { counted: EMPTY_SUMS, expected: sumsOf(checkpoint) };
  const epochs = { before: expected.epoch, spendDay: expected.spendDay };
  const counted = await countEntries(session, ledgerAccountId, before, { ...epochs, most: p.most });
  const save = (recount: LedgerRecount | null) => session.saveRecount(checkpoint, recount, new Date(p.now));
  if (counted.epoch < expected.epoch) {
    await save({ counted, expected });
    return true;
  }
  const isSame = areSameSums(counted, expected);
  if (isSame) await save(null);
  else await beginCount(session, checkpoint);
  return isSame;
}

function isDue({ recount, recountedAt }: LedgerCheckpointDocument, now: number): boolean {
  return recount !== undefined || recountedAt === undefined || now - recountedAt.getTime() >= RECOUNT_EVERY_MS;
}
