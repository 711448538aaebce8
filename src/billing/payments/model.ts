import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';

/** A payment that the payment provider told of, as it was told first. */
export interface PaymentDocument {
  /** The provider's id of it. */
  _id: string;
  accountId: string;
  mode: Mode;
  amountMicros: Micros;
  receivedAt: Date;
}

export const paymentSchema = new Schema<PaymentDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    mode: { type: String, enum: ['live', 'test'], required: true },
    amountMicros: { type: Number, required: true },
    receivedAt: { type: Date, required: true },
  },
  { collection: 'payments', versionKey: false },
);
