import { Schema } from 'mongoose';

/** A number and the one account that owns it; `_id` is the number in E.164. */
export interface PhoneNumberDocument {
  _id: string;
  accountId: string;
  /** Answers calls forwarded from this number, in place of the account's active inbound agent. */
  agentId?: string;
  createdAt: Date;
}

export const phoneNumberSchema = new Schema<PhoneNumberDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    agentId: String,
    createdAt: { type: Date, required: true },
  },
  { collection: 'phone_numbers', versionKey: false },
);
