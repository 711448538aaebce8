import { Schema } from 'mongoose';

/** What an operator did about an account's new calls, and why. Only ever added; the last of a ledger account stands. */
export interface AccountFreezeDocument {
  /** A ULID, so that they sort by time. */
  _id: string;
  ledgerAccountId: string;
  action: 'freeze' | 'unfreeze';
  reason: string;
  by: string;
  at: Date;
}

export const accountFreezeSchema = new Schema<AccountFreezeDocument>(
  {
    _id: String,
    ledgerAccountId: { type: String, required: true },
    action: { type: String, enum: ['freeze', 'unfreeze'], required: true },
    reason: { type: String, required: true },
    by: { type: String, required: true },
    at: { type: Date, required: true },
  },
  { collection: 'account_freezes', versionKey: false },
);

// Unique only so that every server builds it.
accountFreezeSchema.index({ ledgerAccountId: 1, _id: -1 }, { unique: true });
