import { Schema } from 'mongoose';

/** The bytes of a call's completion event, fixed by the first attempt so that every attempt sends the same. */
export interface WebhookDeliveryDocument {
  _id: string;
  callId: string;
  accountId: string;
  url: string;
  body: string;
  createdAt: Date;
}

/** One attempt, inserted before its POST; a row without an outcome belongs to a worker that died in it. */
export interface WebhookAttemptDocument {
  /** `<call id>:<number>` */
  _id: string;
  callId: string;
  number: number;
  startedAt: Date;
  finishedAt?: Date;
  /** `delivered`, `failed` with a reason, or absent. */
  outcome?: 'delivered' | 'failed' | 'interrupted';
  httpStatus?: number;
  error?: string;
  /** The first KiB of what the receiver answered. */
  responseBody?: string;
  durationMs?: number;
}

export const webhookDeliverySchema = new Schema<WebhookDeliveryDocument>(
  {
    _id: String,
    callId: { type: String, required: true },
    accountId: { type: String, required: true },
    url: { type: String, required: true },
    body: { type: String, required: true },
    createdAt: { type: Date, required: true },
  },
  { collection: 'webhook_deliveries', versionKey: false },
);

export const webhookAttemptSchema = new Schema<WebhookAttemptDocument>(
  {
    _id: String,
    callId: { type: String, required: true },
    number: { type: Number, required: true },
    startedAt: { type: Date, required: true },
    finishedAt: Date,
    outcome: String,
    httpStatus: Number,
    error: String,
    responseBody: String,
    durationMs: Number,
  },
  { collection: 'webhook_attempts', versionKey: false },
);
webhookAttemptSchema.index({ callId: 1, number: 1 }, { unique: true });
