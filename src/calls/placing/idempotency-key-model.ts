import { Schema } from 'mongoose';

/** A client's Idempotency-Key and the call it stands for. Expiry is compared in code, too: not every server has TTL indexes. */
export interface IdempotencyKeyDocument {
  /** `<account id>:<mode>:<sha-256 of the key>` */
  _id: string;
  /** Keyed, of the request; empty once the call is erased: the key then fits no request. */
  bodyHash: string;
  callId: string;
  createdAt: Date;
  expiresAt: Date;
  answerStatus?: number;
  /** The kept answer, JSON in a string. */
  answerBody?: string;
}

export const idempotencyKeySchema = new Schema<IdempotencyKeyDocument>(
  {
    _id: String,
    bodyHash: { type: String, required: true },
    callId: { type: String, required: true },
    createdAt: { type: Date, required: true },
    expiresAt: { type: Date, required: true },
    answerStatus: Number,
    answerBody: String,
  },
  { collection: 'idempotency_keys', versionKey: false },
);
idempotencyKeySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
idempotencyKeySchema.index({ callId: 1 });
