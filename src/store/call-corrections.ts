import type { Micros } from '../domain/money.js';
import type { Database } from './database.js';
import { correctionKey } from './ledger-keys.js';
import type { LedgerEntryDocument } from './models/ledger.js';

/** Corrections of one bill that are looked for; nobody corrects a call this often. */
const MAX_CORRECTIONS = 20;

/**
 * What was credited on a call's bill so far, and the number of the next correction: that of an earlier one for the same
 * reason, so that repeating it credits nothing more. Sees swept operations only.
 */
export async function readCorrections(
  database: Database,
  callId: string,
  reason: string,
): Promise<{ creditedMicros: Micros; number: number; repeated: boolean }> {
  const keys = Array.from({ length: MAX_CORRECTIONS }, (_, index) => correctionKey(callId, index + 1));
  const entries = await database.ledgerEntries
    .find({ _id: { $in: keys } })
    .lean<LedgerEntryDocument[]>()
    .exec();
  const earlier = entries.find((entry) => entry.reason === reason);
  return {
    creditedMicros: entries.reduce((sum, { amountMicros = 0 }) => sum + amountMicros, 0),
    number: earlier ? keys.indexOf(earlier._id) + 1 : entries.length + 1,
    repeated: earlier !== undefined,
  };
}
