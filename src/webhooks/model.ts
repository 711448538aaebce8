import { Schema } from 'mongoose';
import type { Mode } from '../kernel/ids.js';

/** The bytes of a call's completion event, fixed by the first attempt so that every attempt sends the same. */
export interface WebhookDeliveryDocument {
  _id: string;
  callId: string;
  accountId: string;
  /** Absent in rows of the first versions. */
  mode?: Mode;
  url: string;
  /** The URL without its query; absent in rows of the first versions, and after erasure. */
  endpoint?: string;
  body: string;
  createdAt: Date;
  /** How the latest delivery stands, for lists; the attempts' rows decide. Absent: under way. */
  state?: 'delivered' | 'failed';
  lastAttemptAt?: Date;
  /** When it was accepted last; stays while it is delivered again. */
  deliveredAt?: Date;
  /** When it was given up; stays while it is delivered again, until that succeeds. */
  failedAt?: Date;
  /** Deliveries that were asked for after the first. */
  redeliveries?: number;
  /** When URL and body were taken out, for good. */
  erasedAt?: Date;
}

/** One attempt, inserted before its POST; a row without an outcome belongs to a worker that died in it. */
export interface WebhookAttemptDocument {
  /** `<call id>:<number>` */
  _id: string;
  callId: string;
  /** Counted through all deliveries of the event. */
  number: number;
  /** Which redelivery it belongs to; absent: the first delivery. */
  redelivery?: number;
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
    mode: String,
    url: { type: String, required: true },
    endpoint: String,
    body: { type: String, required: true },
    createdAt: { type: Date, required: true },
    state: String,
    lastAttemptAt: Date,
    deliveredAt: Date,
    failedAt: Date,
    redeliveries: Number,
    erasedAt: Date,
  },
  { collection: 'webhook_deliveries', versionKey: false },
);
// Unique only so that every server builds it; lists page on it.
webhookDeliverySchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
// The list of one state; embedded servers skip it.
webhookDeliverySchema.index({ accountId: 1, mode: 1, state: 1, createdAt: -1, _id: 1 });
// Which endpoints fail is read from these.
webhookDeliverySchema.index({ accountId: 1, mode: 1, failedAt: -1, _id: 1 }, { unique: true });
webhookDeliverySchema.index({ accountId: 1, mode: 1, endpoint: 1, failedAt: -1, _id: 1 }, { unique: true });
webhookDeliverySchema.index({ accountId: 1, mode: 1, endpoint: 1, deliveredAt: -1, _id: 1 }, { unique: true });

export const webhookAttemptSchema = new Schema<WebhookAttemptDocument>(
  {
    _id: String,
    callId: { type: String, required: true },
    number: { type: Number, required: true },
    redelivery: Number,
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
