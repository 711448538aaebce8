import { Schema } from 'mongoose';
import type { Micros } from '../../kernel/money.js';

/** The reason why a hold was rejected or granted only in part. */
export type HoldRejection = 'INSUFFICIENT_BALANCE' | 'SPEND_LIMIT_EXCEEDED' | 'ACCOUNT_FROZEN';

/**
 * A decided operation. It is stored permanently as a ledger entry, and until a sweep removes it also as a marker in the
 * account document.
 */
export interface LedgerMarker {
  type: 'topUp' | 'hold' | 'settlement' | 'correction';
  callId?: string;
  /** Amount granted by a hold (0 for a rejected one and for a tombstone), or credited by a top-up or correction. */
  amountMicros?: Micros;
  /**
   * Price per second that the amounts are multiples of. Hold: the call's price. Settlement and correction: the price of
   * the call's first hold.
   */
  microsPerSecond?: Micros;
  /**
   * Settlement: the total amount held, the amount billed, and the seconds requested. The bill never exceeds the held
   * amount.
   */
  heldMicros?: Micros;
  billedMicros?: Micros;
  billedSeconds?: number;
  /** Correction: number of whole seconds that it takes off the bill. */
  creditedSeconds?: number;
  /** Hold: true if no further window may follow. */
  last?: boolean;
  refused?: boolean;
  /** Hold: why it was rejected, or why it covers only part of its window. */
  refusal?: HoldRejection;
  void?: boolean;
  /**
   * Hold: the UTC day whose spending includes the hold. Settlement: the UTC day whose spending was reduced by
   * `unspentMicros`. In days since 1970-01-01.
   */
  spendDay?: number;
  unspentMicros?: Micros;
  /** Correction: explanation of the error, for people. */
  reason?: string;
  /** Correction: the operator's reference. The same reference marks a repeat. */
  reference?: string;
  /** Settlement: the seconds were measured by our clocks. The carrier's duration may correct them later. */
  estimated?: boolean;
  /** The account's epoch, a number that grows each time the markers of entered operations are removed. */
  epoch: number;
  /** Time of the decision, by the clock of the deciding process. Identical in marker and entry. */
  at: Date;
}

/**
 * Rejects new calls of an account, because its amounts are in doubt or an operator froze it. Running calls continue and
 * are billed.
 */
export interface LedgerFreeze {
  reason: string;
  at: Date;
}

export interface LedgerAccountDocument {
  /** `<account id>~<mode>#0` */
  _id: string;
  epoch: number;
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
  /** The UTC day that `spentMicros` belongs to, in days since 1970-01-01; only increases. */
  spendDay: number;
  /** Amount billed and held on `spendDay`. */
  spentMicros: Micros;
  frozen?: LedgerFreeze;
  /** Number of `markers`. Updates check it to limit the document's size, however many processes write. */
  markerCount: number;
  /** Decided operations, by operation key. A sweep moves them to ledger entries. */
  markers: Record<string, LedgerMarker>;
}

export interface LedgerEntryDocument extends LedgerMarker {
  /** The operation key, see `keys.ts`. */
  _id: string;
  ledgerAccountId: string;
}

/** Sums over all operations of an account that were decided before an epoch, and therefore have entries. */
export interface LedgerSums {
  epoch: number;
  creditedMicros: Micros;
  heldMicros: Micros;
  billedMicros: Micros;
  operationCount: number;
  /** Number of operations whose amount is not a number of whole seconds at the price recorded in them. */
  mispriced: number;
  /** The latest UTC day of these operations that counts spending, in days since 1970-01-01, and its spending. */
  spendDay: number;
  spentMicros: Micros;
}

/** A repeated count of the entries of a checkpoint: how far it is, and the sums that it must arrive at. */
export interface LedgerRecount {
  counted: LedgerSums;
  expected: LedgerSums;
}

/** Sums of an account's old entries, so that later audits read only newer ones. */
export interface LedgerCheckpointDocument extends LedgerSums {
  /** The ledger account's id. */
  _id: string;
  /** Grows when the entries are counted from the first one on. A step that began before changes nothing then. */
  generation?: number;
  /** All entries are being counted. The first comparison after that decides whether the account matches. */
  counting?: true;
  /** How the account differed from all of its operations when they were last compared; absent if it matched. */
  difference?: string;
  /** The recount in progress. */
  recount?: LedgerRecount;
  /** When the last recount ended. */
  recountedAt?: Date;
}

const amount = { type: Number, required: true };

export const ledgerAccountSchema = new Schema<LedgerAccountDocument>(
  {
    _id: String,
    epoch: amount,
    availableMicros: amount,
    heldMicros: amount,
    creditedMicros: amount,
    billedMicros: amount,
    spendDay: amount,
    spentMicros: amount,
    frozen: { type: { reason: String, at: Date }, _id: false },
    markerCount: amount,
    markers: { type: Schema.Types.Mixed, required: true, default: {} },
  },
  { collection: 'ledger_accounts', versionKey: false, minimize: false },
);
// For the sum of held money.
ledgerAccountSchema.index({ heldMicros: 1 });

export const ledgerEntrySchema = new Schema<LedgerEntryDocument>(
  {
    _id: String,
    ledgerAccountId: { type: String, required: true },
    type: { type: String, required: true },
    callId: String,
    amountMicros: Number,
    microsPerSecond: Number,
    heldMicros: Number,
    billedMicros: Number,
    billedSeconds: Number,
    creditedSeconds: Number,
    last: Boolean,
    refused: Boolean,
    refusal: String,
    void: Boolean,
    spendDay: Number,
    unspentMicros: Number,
    reason: String,
    reference: String,
    estimated: Boolean,
    epoch: amount,
    at: { type: Date, required: true },
  },
  { collection: 'ledger_entries', versionKey: false },
);

// For sums over an account's entries. The embedded server builds only unique indexes, so it scans instead.
ledgerEntrySchema.index({ ledgerAccountId: 1, epoch: 1 });
// Reconciliation reads settlements and holds in the order they were written.
ledgerEntrySchema.index({ type: 1, at: 1, _id: 1 });

// For statement pages. The index is unique only because the embedded server builds no other kind.
ledgerEntrySchema.index({ ledgerAccountId: 1, at: -1, _id: -1 }, { unique: true });

const sums = {
  epoch: amount,
  creditedMicros: amount,
  heldMicros: amount,
  billedMicros: amount,
  operationCount: amount,
  mispriced: amount,
  spendDay: amount,
  spentMicros: amount,
};

export const ledgerCheckpointSchema = new Schema<LedgerCheckpointDocument>(
  {
    _id: String,
    ...sums,
    generation: Number,
    counting: Boolean,
    difference: String,
    recount: { type: { counted: sums, expected: sums }, _id: false },
    recountedAt: Date,
  },
  { collection: 'ledger_checkpoints', versionKey: false },
);

/**
 * A concurrency slot of one call. With `removeAfter`, the slot was released; the remaining tombstone prevents the call
 * from acquiring a slot again.
 */
export interface Lease {
  acquiredAt?: Date;
  releasedAt?: Date;
  removeAfter?: Date;
}

/** Concurrency slots of one account and mode: at most `limit` leases without `releasedAt`. */
export interface LeaseDocument {
  /** `<account id>~<mode>` */
  _id: string;
  count: number;
  /**
   * Incremented when tombstones are removed or slots recounted. Of two concurrent removals or recounts only one
   * succeeds.
   */
  epoch: number;
  /** The slots by call id. */
  leases: Record<string, Lease>;
}

export const leaseSchema = new Schema<LeaseDocument>(
  {
    _id: String,
    count: amount,
    epoch: amount,
    leases: { type: Schema.Types.Mixed, required: true, default: {} },
  },
  { collection: 'leases', versionKey: false, minimize: false },
);
// For the sum of calls in progress.
leaseSchema.index({ count: 1 });
