import { Schema } from 'mongoose';
import type { Micros } from '../../kernel/money.js';

/** Why a hold was refused, or granted in part only. */
export type HoldRefusal = 'INSUFFICIENT_BALANCE' | 'SPEND_LIMIT_EXCEEDED' | 'ACCOUNT_FROZEN';

/** One decided operation, as it stands in the account document until a sweep and in its own row for ever. */
export interface LedgerMarker {
  type: 'topUp' | 'hold' | 'settlement' | 'correction';
  callId?: string;
  /** Micros granted by a hold (0: refused or void), credited by a top-up or correction. */
  amountMicros?: Micros;
  /** Price of a second that the amounts stand for. Hold: of its call. Settlement, correction: of the call's first hold. */
  microsPerSecond?: Micros;
  /** Settlement: what was held in all, what of it is billed, and the seconds that were asked for. */
  heldMicros?: Micros;
  billedMicros?: Micros;
  billedSeconds?: number;
  /** Correction: whole seconds that it takes off the bill. */
  creditedSeconds?: number;
  /** A hold after which no further window may be held. */
  last?: boolean;
  refused?: boolean;
  /** Why nothing, or less than the whole window, was granted. */
  refusal?: HoldRefusal;
  void?: boolean;
  /** Hold: the UTC day whose spending it counts to. Settlement: the day from whose spending `unspentMicros` went off. */
  spendDay?: number;
  unspentMicros?: Micros;
  /** Correction: what was wrong, for people. */
  reason?: string;
  /** Correction: the operator's own mark of it, by which a repeat is known. */
  reference?: string;
  /** Seconds come from our own clocks; the carrier's figure may correct them later. */
  estimated?: boolean;
  epoch: number;
  /** When it was decided, by the clock of the process that decided it; the same in the account document and in its row. */
  at: Date;
}

/** An account whose figures are in doubt, or that an operator stopped, starts no new call; calls that run go on and are billed. */
export interface LedgerFreeze {
  reason: string;
  at: Date;
}

export interface LedgerAccountDocument {
  /** `<account id>~<mode>#<stripe>` */
  _id: string;
  epoch: number;
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
  /** The UTC day (days since 1970-01-01) that `spentMicros` is of; only grows. */
  spendDay: number;
  /** Billed and held on `spendDay`. */
  spentMicros: Micros;
  frozen?: LedgerFreeze;
  /** How many markers there are; bounds the document whatever number of processes write to it. */
  markerCount: number;
  /** Operations since the last sweep, by operation key. */
  markers: Record<string, LedgerMarker>;
}

export interface LedgerEntryDocument extends LedgerMarker {
  /** The operation key. */
  _id: string;
  ledgerAccountId: string;
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

// The embedded server skips it (it builds unique ones only) and scans; a real one sums an account's rows by it.
ledgerEntrySchema.index({ ledgerAccountId: 1, epoch: 1 });
// The reconciler walks settlements and holds in the order in which they were written.
ledgerEntrySchema.index({ type: 1, at: 1, _id: 1 });

// Unique only so that every server builds it; statements page on it.
ledgerEntrySchema.index({ ledgerAccountId: 1, at: -1, _id: -1 }, { unique: true });

/** A place for one call; with `removeAfter` it is the tombstone of a released one and blocks a late acquire. */
export interface Lease {
  acquiredAt?: Date;
  releasedAt?: Date;
  removeAfter?: Date;
}

/** Places for concurrent calls of one account and mode: at most `limit` entries without `releasedAt`. */
export interface LeaseDocument {
  /** `<account id>~<mode>` */
  _id: string;
  count: number;
  /** Moves when tombstones are removed, so that two who remove them cannot meet. */
  epoch: number;
  /** By call id. */
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
