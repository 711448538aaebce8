import { Schema } from 'mongoose';

/** A phone number with its owner; `_id` is the number in E.164. */
export interface PhoneNumberDocument {
  _id: string;
  accountId: string;
  /** Agent that answers calls forwarded from this number, instead of the account's inbound agent. */
  agentId?: string;
  /** Name of the carrier account that the number belongs to. Absent: `default`. */
  carrierAccount?: string;
  createdAt: Date;
}

export const phoneNumberSchema = new Schema<PhoneNumberDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    agentId: String,
    carrierAccount: String,
    createdAt: { type: Date, required: true },
  },
  { collection: 'phone_numbers', versionKey: false },
);
// Every live call reads the numbers of its account, oldest first.
phoneNumberSchema.index({ accountId: 1, createdAt: 1, _id: 1 });
