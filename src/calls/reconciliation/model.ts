import { Schema } from 'mongoose';

/**
 * Kinds of findings. All but `hold_overdue` and `places_miscounted` freeze the account, which stops its new calls.
 *
 * - `account_unbalanced`: the ledger account does not equal the sum of its operations
 * - `bill_mismatch`: a call's read model and its settlement have different bills
 * - `settlement_mismatch`: a settlement is not the lesser of the billed seconds' price and the held amount
 * - `settlement_missing`: a final call has no settlement
 * - `call_missing`: a settlement bills a call that has no read model
 * - `hold_overdue`: money is still held after the longest possible call, and the call cannot be ended yet
 * - `places_miscounted`: an account's count of concurrency slots does not equal the number of its leases
 */
export const FINDING_KINDS = [
  'account_unbalanced',
  'bill_mismatch',
  'settlement_mismatch',
  'settlement_missing',
  'call_missing',
  'hold_overdue',
  'places_miscounted',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** The expected or the actual facts of a mismatch: amounts in micro-USD, seconds, statuses. */
export type FindingFacts = Record<string, string | number | boolean | null>;

/** A mismatch that an operator must resolve. It is never deleted, and it does not change the records it describes. */
export interface FindingDocument {
  /** `<kind>:<call id or ledger account id>`, so that the same mismatch has the same id. */
  _id: string;
  ledgerAccountId: string;
  callId?: string;
  kind: FindingKind;
  expected: FindingFacts;
  actual: FindingFacts;
  firstSeenAt: Date;
  lastSeenAt: Date;
  /** When the mismatch was found to be gone. */
  endedAt?: Date;
  resolvedAt?: Date;
  resolvedBy?: string;
  /** Why the operator resolved it. */
  reason?: string;
}

/** Whether an open finding of this kind freezes the account, so that its new calls are rejected. */
export function isFreezing(kind: FindingKind): boolean {
  return kind !== 'hold_overdue' && kind !== 'places_miscounted';
}

export const findingSchema = new Schema<FindingDocument>(
  {
    _id: String,
    ledgerAccountId: { type: String, required: true },
    callId: String,
    kind: { type: String, enum: FINDING_KINDS, required: true },
    expected: { type: Schema.Types.Mixed, required: true },
    actual: { type: Schema.Types.Mixed, required: true },
    firstSeenAt: { type: Date, required: true },
    lastSeenAt: { type: Date, required: true },
    endedAt: Date,
    resolvedAt: Date,
    resolvedBy: String,
    reason: String,
  },
  { collection: 'reconciliation_findings', versionKey: false, minimize: false },
);

findingSchema.index({ ledgerAccountId: 1, resolvedAt: 1 });
// Every round counts the open findings of all accounts.
findingSchema.index({ resolvedAt: 1, firstSeenAt: 1, _id: 1 });

/** How far a walk through a collection has read, so that each round continues where the last one ended. */
export interface CursorDocument {
  /** Name of the walk. */
  _id: string;
  at?: Date;
  id: string;
}

export const cursorSchema = new Schema<CursorDocument>(
  { _id: String, at: Date, id: { type: String, required: true } },
  { collection: 'reconciliation_cursors', versionKey: false },
);

export const CHECK_KINDS = ['ending', 'estimate', 'webhook', 'comparison', 'retention', 'words'] as const;
export type CheckKind = (typeof CHECK_KINDS)[number];

/**
 * A call that must be checked again.
 * - `ending`: its workflow may not have ended it.
 * - `estimate`: it was billed by our clocks, and not yet by the carrier's duration.
 * - `webhook`: its webhook is not delivered and has attempts left.
 * - `comparison`: its records could not be read.
 * - `retention`: it is past its retention, and was not reconciled yet.
 * - `words`: its agent stores no words, and a media process may have written some after its end.
 */
export interface CheckDocument {
  /** `<kind>:<call id>` */
  _id: string;
  kind: CheckKind;
  callId: string;
  ledgerAccountId: string;
  attempts: number;
  dueAt: Date;
  addedAt: Date;
}

export const checkSchema = new Schema<CheckDocument>(
  {
    _id: String,
    kind: { type: String, enum: CHECK_KINDS, required: true },
    callId: { type: String, required: true },
    ledgerAccountId: { type: String, required: true },
    attempts: { type: Number, required: true },
    dueAt: { type: Date, required: true },
    addedAt: { type: Date, required: true },
  },
  { collection: 'reconciliation_checks', versionKey: false },
);
checkSchema.index({ dueAt: 1, _id: 1 });
checkSchema.index({ ledgerAccountId: 1, dueAt: 1, _id: 1 });
