import { limitReached } from '../kernel/common-errors.js';
import { ServiceError } from '../kernel/errors.js';
import type { Micros } from '../kernel/money.js';
import type { BillingDatabase } from './database.js';
import { correctionKey, isPaymentId } from './ledger/keys.js';
import { validateReason } from './ledger/operations.js';
import type { Ledger } from './ledger/ledger.js';
import type { LedgerEntryDocument } from './ledger/model.js';

/** Maximum corrections per call, far above any real need. */
const MAX_CORRECTIONS = 20;

/**
 * Reads the amount credited to a call so far, and the number for the next correction. A reason that was used before
 * returns its earlier number, so that repeating the correction credits nothing. Reads only ledger entries, so call the
 * ledger's `sweep` first, which writes an entry for every operation.
 */
export async function readCorrections(
  database: BillingDatabase,
  callId: string,
  reason: string,
): Promise<{ creditedMicros: Micros; number: number; repeated: boolean }> {
  const entries = await entriesOf(database, callId);
  const earlier = entries.findIndex((entry) => entry.reason === reason);
  return {
    creditedMicros: entries.reduce((sum, { amountMicros = 0 }) => sum + amountMicros, 0),
    number: earlier >= 0 ? earlier + 1 : entries.length + 1,
    repeated: earlier >= 0,
  };
}

/**
 * Credits part of a call's cost. A reference credits once, even if this function is called repeatedly or concurrently.
 * If a concurrent correction takes the number, tries the next number.
 * @returns the entry's id, and whether the correction existed already
 * @throws ServiceError IDEMPOTENCY_CONFLICT when the reference exists with another amount or reason; MISSING_PARAMS for
 * an invalid reference, reason or amount, a call that is not settled, or more than the call was billed
 */
export async function correctOnce(
  database: BillingDatabase,
  ledger: Ledger,
  p: { ledgerAccountId: string; callId: string; reference: string; amountMicros: Micros; reason: string },
): Promise<{ entryId: string; repeated: boolean }> {
  const { ledgerAccountId, callId, reference, amountMicros } = p;
  const reason = validateReason(p.reason);
  if (!isPaymentId(reference)) {
    throw new ServiceError('MISSING_PARAMS', 'reference must have 1 to 128 letters, digits, _ or -.');
  }
  for (;;) {
    await ledger.sweep(ledgerAccountId);
    const entries = await entriesOf(database, callId);
    const earlier = entries.find((entry) => entry.reference === reference);
    if (earlier) {
      if (earlier.amountMicros === amountMicros && earlier.reason === reason) {
        return { entryId: earlier._id, repeated: true };
      }
      throw new ServiceError(
        'IDEMPOTENCY_CONFLICT',
        'This reference was used before with a different amount or reason. Use a new reference.',
      );
    }
    const number = entries.length + 1;
    if (number > MAX_CORRECTIONS) {
      throw new ServiceError(
        'MISSING_PARAMS',
        limitReached({
          of: 'A call',
          most: MAX_CORRECTIONS,
          items: 'corrections',
          remedy: 'Credit the account instead.',
        }),
      );
    }
    try {
      await ledger.correct({ ledgerAccountId, callId, number, amountMicros, reason, reference });
      return { entryId: correctionKey(callId, number), repeated: false };
    } catch (error) {
      // A concurrent correction took the number. Look again, because it may have the same reference.
      if (!(error instanceof ServiceError) || error.code !== 'IDEMPOTENCY_CONFLICT') throw error;
    }
  }
}

/** Reads a call's corrections, ordered by number. The numbers have no gaps. */
async function entriesOf(database: BillingDatabase, callId: string): Promise<LedgerEntryDocument[]> {
  const keys = Array.from({ length: MAX_CORRECTIONS }, (_, index) => correctionKey(callId, index + 1));
  const found = await database.ledgerEntries
    .find({ _id: { $in: keys } })
    .lean<LedgerEntryDocument[]>()
    .exec();
  return found.toSorted((a, b) => keys.indexOf(a._id) - keys.indexOf(b._id));
}
