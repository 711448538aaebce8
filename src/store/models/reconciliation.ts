import { Schema } from 'mongoose';

/**
 * What a finding says. All but `hold_overdue` are mismatches between records and freeze the account's first holds.
 *
 * - `account_unbalanced`: the account's document does not equal the sum of its operations
 * - `bill_mismatch`: a call's read model tells another bill than its settlement
 * - `settlement_mismatch`: a settlement is not the lesser of what was talked and what was held
 * - `settlement_missing`: a final call has no settlement
 * - `call_missing`: a settlement bills a call that nobody can read
 * - `hold_overdue`: money is still held after the longest time a call can take, and the call cannot be ended yet
 */
export const FINDING_KINDS = [
  'account_unbalanced',
  'bill_mismatch',
  'settlement_mismatch',
  'settlement_missing',
  'call_missing',
  'hold_overdue',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** One side of a mismatch: amounts, seconds, statuses. */
export type FindingFacts = Record<string, string | number | boolean | null>;

/** A mismatch that an operator must look at. Never removed, and the records it tells of are never changed by it. */
export interface FindingDocument {
  /** `<kind>:<call id or ledger account id>`, so that a repeat finds itself. */
  _id: string;
  ledgerAccountId: string;
  callId?: string;
  kind: FindingKind;
  expected: FindingFacts;
  actual: FindingFacts;
  firstSeenAt: Date;
  lastSeenAt: Date;
  resolvedAt?: Date;
  resolvedBy?: string;
  /** Why it is resolved. */
  reason?: string;
}

/** Whether a finding stops new calls of its account while it is open. */
export function isFreezing(kind: FindingKind): boolean {
  return kind !== 'hold_overdue';
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
    resolvedAt: Date,
    resolvedBy: String,
    reason: String,
  },
  { collection: 'reconciliation_findings', versionKey: false, minimize: false },
);

findingSchema.index({ ledgerAccountId: 1, resolvedAt: 1 });

/** How far a walk through a collection has come, so that each round goes on where the last one ended. */
export interface CursorDocument {
  /** The walk. */
  _id: string;
  at?: Date;
  id: string;
}

export const cursorSchema = new Schema<CursorDocument>(
  { _id: String, at: Date, id: { type: String, required: true } },
  { collection: 'reconciliation_cursors', versionKey: false },
);

/** A call to look at again: one whose end nobody else will write, or one billed by our clocks and not yet by the carrier's. */
export interface CheckDocument {
  /** `<kind>:<call id>` */
  _id: string;
  kind: 'ending' | 'estimate';
  callId: string;
  ledgerAccountId: string;
  attempts: number;
  dueAt: Date;
  addedAt: Date;
}

export const checkSchema = new Schema<CheckDocument>(
  {
    _id: String,
    kind: { type: String, enum: ['ending', 'estimate'], required: true },
    callId: { type: String, required: true },
    ledgerAccountId: { type: String, required: true },
    attempts: { type: Number, required: true },
    dueAt: { type: Date, required: true },
    addedAt: { type: Date, required: true },
  },
  { collection: 'reconciliation_checks', versionKey: false },
);
