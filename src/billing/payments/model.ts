import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';

/** A payment as the payment provider or an operator first reported it. */
export interface PaymentDocument {
  /** The payment's id, from the payment provider or the operator. */
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
