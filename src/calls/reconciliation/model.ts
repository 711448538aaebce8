import { Schema } from 'mongoose';

/**
 * What a finding says. Mismatches of money freeze the account's first holds; `hold_overdue` and `places_miscounted` are
 * none.
 *
 * - `account_unbalanced`: the account's document does not equal the sum of its operations
 * - `bill_mismatch`: a call's read model tells another bill than its settlement
 * - `settlement_mismatch`: a settlement is not the lesser of what was talked and what was held
 * - `settlement_missing`: a final call has no settlement
 * - `call_missing`: a settlement bills a call that nobody can read
 * - `hold_overdue`: money is still held after the longest time a call can take, and the call cannot be ended yet
 * - `places_miscounted`: the count of an account's places for concurrent calls is not that of the places that are taken
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

const CHECK_KINDS = ['ending', 'estimate', 'webhook', 'comparison'] as const;
export type CheckKind = (typeof CHECK_KINDS)[number];

/**
 * A call to look at again: one whose `ending` nobody else will write, one billed by an `estimate` of our clocks and not
 * yet by the carrier's figure, one whose `webhook` is neither delivered nor given up, or one whose records could not be read for
 * their `comparison`.
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
