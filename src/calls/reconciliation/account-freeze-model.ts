import { Schema } from 'mongoose';

/**
 * A freeze or unfreeze of a ledger account by an operator. An account's last row applies. Rows are never changed, but lose
 * their reason when the account is erased.
 */
export interface AccountFreezeDocument {
  /** A ULID, which sorts by time. */
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

// The index is unique only because the embedded server builds no other kind.
accountFreezeSchema.index({ ledgerAccountId: 1, _id: -1 }, { unique: true });
