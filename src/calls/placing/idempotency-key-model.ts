import { Schema } from 'mongoose';

/** A client's Idempotency-Key and its call. The code checks expiry, too, because not every server has TTL indexes. */
export interface IdempotencyKeyDocument {
  /** `<account id>:<mode>:<sha-256 of the key>` */
  _id: string;
  /** HMAC of the request. When the call is erased it becomes empty, so that it matches no request. */
  bodyHash: string;
  callId: string;
  createdAt: Date;
  expiresAt: Date;
  answerStatus?: number;
  /** The stored response body, as JSON. */
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
