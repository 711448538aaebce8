import type { Amounts, StatementEntry } from './statement.js';
import { billedSecondsOf } from '../ledger/rates.js';
import type { LedgerEntryDocument, LedgerMarker } from '../ledger/model.js';

/** Converts a ledger entry to the statement entry that the account's owner sees. */
export function statementEntryOf(entry: LedgerEntryDocument): StatementEntry {
  const { _id: id, type, callId, at } = entry;
  const shared = { id, at, ...(callId === undefined ? {} : { callId }), ...changesOf(entry) };
  switch (type) {
    case 'topUp':
      return { ...shared, type: 'top_up', paymentId: lastPart(id) };
    case 'hold':
      return {
        ...shared,
        window: Number(lastPart(id)),
        ...(entry.refused
          ? { type: 'refusal', reason: entry.refusal ?? 'INSUFFICIENT_BALANCE' }
          : { type, ...(entry.refusal === undefined ? {} : { reason: entry.refusal }) }),
      };
    case 'settlement':
      return { ...shared, type, billedSeconds: billedSecondsOf(entry) };
    case 'correction':
      return { ...shared, type, ...(entry.reason === undefined ? {} : { reason: entry.reason }) };
  }
}

/** Returns the signed changes of the four amounts by an operation, counted in the same way as in `auditAccount`. */
export function changesOf(marker: LedgerMarker): Amounts {
  const { amountMicros: amount = 0, heldMicros: held = 0, billedMicros: billed = 0 } = marker;
  // `0 - x` avoids -0, which would be printed.
  switch (marker.type) {
    case 'topUp':
      return { availableMicros: amount, heldMicros: 0, creditedMicros: amount, billedMicros: 0 };
    case 'hold':
      return { availableMicros: 0 - amount, heldMicros: amount, creditedMicros: 0, billedMicros: 0 };
    case 'settlement':
      return { availableMicros: held - billed, heldMicros: 0 - held, creditedMicros: 0, billedMicros: billed };
    case 'correction':
      return { availableMicros: amount, heldMicros: 0, creditedMicros: 0, billedMicros: 0 - amount };
  }
}

/** Returns the last part of an operation key: the payment id or the window. */
function lastPart(key: string): string {
  return key.slice(key.lastIndexOf('~') + 1);
}
