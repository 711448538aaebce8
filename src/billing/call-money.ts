import { driverCollection } from '../platform/mongo/driver-collection.js';
import { rateOf, secondsCovered, type Micros } from '../kernel/money.js';
import type { BillingDatabase } from './database.js';
import { holdKey, settlementKey } from './ledger/keys.js';
import { heldSecondsOf } from './ledger/rates.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerMarker } from './ledger/model.js';

/** One hold window of a call. The billed fields are set once the call is settled. */
export interface HeldWindow {
  window: number;
  at: Date;
  heldSeconds: number;
  heldMicros: Micros;
  billedSeconds?: number;
  billedMicros?: Micros;
  refusal?: string;
}

/** Holds and settlement of one call, as recorded in the ledger. */
export interface CallMoney {
  windows: HeldWindow[];
  settlement?: { at: Date; billedMicros: Micros; estimated: boolean };
}

/**
 * Maximum windows to read, more than any call has. Real calls have at most five; tests use smaller windows and have
 * more.
 */
const MAX_WINDOWS = 40;

/**
 * Reads a call's holds and settlement. Recent operations are in the account document until a sweep moves them to ledger
 * entries. The account document is read first, so that an operation moved between the two reads is found as an entry.
 */
export async function readCallMoney(
  database: BillingDatabase,
  { ledgerAccountId, callId }: { ledgerAccountId: string; callId: string },
): Promise<CallMoney> {
  const keys = [...Array.from({ length: MAX_WINDOWS }, (_, window) => holdKey(callId, window)), settlementKey(callId)];
  const account = await driverCollection<LedgerAccountDocument>(database, database.ledgerAccounts).findOne(
    { _id: ledgerAccountId },
    { projection: Object.fromEntries(keys.map((key) => [`markers.${key}`, 1])) },
  );
  const rows = await driverCollection<LedgerEntryDocument>(database, database.ledgerEntries)
    .find({ _id: { $in: keys } })
    .toArray();
  const found: Record<string, LedgerMarker> = {
    ...account?.markers,
    ...Object.fromEntries(rows.map((row) => [row._id, row])),
  };
  const settled = found[settlementKey(callId)];
  const windows: HeldWindow[] = [];
  let unbilled = settled?.billedMicros ?? 0;
  for (let window = 0; window < MAX_WINDOWS; window++) {
    const hold = found[holdKey(callId, window)];
    if (hold === undefined || hold.void) continue;
    const heldMicros = hold.amountMicros ?? 0;
    const billedMicros = Math.min(unbilled, heldMicros);
    unbilled -= billedMicros;
    windows.push({
      window,
      at: hold.at,
      heldSeconds: heldSecondsOf(hold),
      heldMicros,
      ...(settled ? { billedSeconds: secondsCovered(billedMicros, rateOf(hold)), billedMicros } : {}),
      ...(hold.refused ? { refusal: hold.refusal ?? 'INSUFFICIENT_BALANCE' } : {}),
    });
  }
  return {
    windows,
    ...(settled
      ? {
          settlement: {
            at: settled.at,
            billedMicros: settled.billedMicros ?? 0,
            estimated: settled.estimated === true,
          },
        }
      : {}),
  };
}
