import { Schema } from 'mongoose';
import type { Mode } from '../kernel/ids.js';

/**
 * The delivery of a call's completion event. The first attempt fixes URL and body, so that every attempt sends the same
 * bytes.
 */
export interface WebhookDeliveryDocument {
  _id: string;
  callId: string;
  accountId: string;
  /** Absent in rows of the first versions. */
  mode?: Mode;
  url: string;
  /** The URL without its query; absent in rows of the first versions and after erasure. */
  endpoint?: string;
  body: string;
  createdAt: Date;
  /** When the process that stored the delivery began the first attempt. That attempt has no row until it has an outcome. */
  firstAttemptAt?: Date;
  /** State of the latest delivery, for lists; absent: in progress. If the stored attempts differ, they are right. */
  state?: 'delivered' | 'failed';
  lastAttemptAt?: Date;
  /** Time of the last success. It stays during a redelivery. */
  deliveredAt?: Date;
  /** Time of the final failure. It stays until a redelivery succeeds. */
  failedAt?: Date;
  /** Number of redeliveries requested. */
  redeliveries?: number;
  /** When URL and body were erased. */
  erasedAt?: Date;
}

/** A header of a webhook's request or of the response to it. */
export interface AttemptHeader {
  name: string;
  value: string;
}

/**
 * One attempt, inserted before its request is sent; the first one usually with its outcome, because the delivery then says
 * that it began. If there is no outcome in time, the worker that sent the request died.
 */
export interface WebhookAttemptDocument {
  /** `<call id>:<number>` */
  _id: string;
  callId: string;
  /** Number of the attempt, from 1, counted across all deliveries of the event. */
  number: number;
  /** Number of the redelivery to which the attempt belongs; absent for the first delivery. */
  redelivery?: number;
  startedAt: Date;
  finishedAt?: Date;
  /** `interrupted`: the worker died. Absent while the request is in progress. */
  outcome?: 'delivered' | 'failed' | 'interrupted';
  httpStatus?: number;
  error?: string;
  /** Headers in their stored form: limited in size, and without the values of those that may contain a secret. */
  requestHeaders?: AttemptHeader[];
  responseHeaders?: AttemptHeader[];
  /** How many response headers exceeded the limits; absent if none. */
  responseHeadersLeftOut?: number;
  /** The first KiB of the response body. */
  responseBody?: string;
  durationMs?: number;
}

/** The part of an attempt that decides the next one. */
export type AttemptStep = Pick<
  WebhookAttemptDocument,
  'number' | 'redelivery' | 'startedAt' | 'finishedAt' | 'outcome'
>;

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
    firstAttemptAt: Date,
    state: String,
    lastAttemptAt: Date,
    deliveredAt: Date,
    failedAt: Date,
    redeliveries: Number,
    erasedAt: Date,
  },
  { collection: 'webhook_deliveries', versionKey: false },
);
// For paged lists. The index is unique only because the embedded server builds no other kind.
webhookDeliverySchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
// For lists of one state. The embedded server does not build this index.
webhookDeliverySchema.index({ accountId: 1, mode: 1, state: 1, createdAt: -1, _id: 1 });
// For finding failing endpoints.
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
    requestHeaders: { type: Schema.Types.Mixed },
    responseHeaders: { type: Schema.Types.Mixed },
    responseHeadersLeftOut: Number,
    responseBody: String,
    durationMs: Number,
  },
  { collection: 'webhook_attempts', versionKey: false },
);
webhookAttemptSchema.index({ callId: 1, number: 1 }, { unique: true });
