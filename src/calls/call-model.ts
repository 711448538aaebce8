import { Schema } from 'mongoose';
import { CALL_STATUSES, END_REASONS } from '../kernel/call-state.js';
import type { CallStatus, EndReason } from '../kernel/call-state.js';
import type { Micros } from '../kernel/money.js';
import type { StoredLatency, StoredUsage } from '../voice/results/model.js';
import type { CompletedCall } from '../webhooks/payload.js';

/**
 * The read model: what clients, the portal and the webhook are told of a call. Written by the projection alone, each
 * write with the workflow's next sequence number. A document without an account is the tombstone of an expired call:
 * it blocks late writes and nobody finds it.
 */
export interface CallDocument extends CompletedCall {
  sequence: number;
  externalCallId: string;
  carrierSid?: string;
  /** Why the call is IDLE: the carrier takes only so many calls per second. */
  waitingFor?: 'dial_slot';
  /** Seconds of talk after which money or the duration limit ends the call; absent while that is not known. */
  endsAfterSeconds?: number;
  /** As its request says. */
  microsPerSecond?: Micros;
  engine?: string;
  /** What the far end waited for each answer. */
  latencies?: StoredLatency[];
  /** What the providers behind the engine took. */
  usage?: StoredUsage;
  /** How often the call went on with a new stream after it had lost one. */
  resumptions?: number;
  /** Each change that was applied, in order; as many as the workflow makes, about twenty at most. */
  changes?: StoredChange[];
  /** When everything personal was taken out. */
  erasedAt?: Date;
}

/** What one write of the read model changed, for people who ask what happened. */
export interface StoredChange {
  sequence: number;
  /** The workflow's time of it. */
  at: Date;
  status?: CallStatus;
  endReason?: EndReason;
  waitingFor?: 'dial_slot';
  /** Null: the talk is not ended for want of money or time any more. */
  endsAfterSeconds?: number | null;
  erased?: true;
}

const changeSchema = new Schema<StoredChange>(
  {
    sequence: Number,
    at: Date,
    status: String,
    endReason: String,
    waitingFor: String,
    endsAfterSeconds: Number,
    erased: Boolean,
  },
  { _id: false },
);

export const callSchema = new Schema<CallDocument>(
  {
    _id: String,
    sequence: { type: Number, required: true },
    accountId: String,
    mode: { type: String, enum: ['live', 'test'] },
    direction: { type: String, enum: ['outbound', 'inbound'] },
    status: { type: String, enum: CALL_STATUSES },
    endReason: { type: String, enum: END_REASONS },
    answeredBy: String,
    fromPhoneNumber: String,
    toPhoneNumber: String,
    agentId: String,
    agentName: String,
    inputParameters: String,
    externalCallId: String,
    carrierSid: String,
    waitingFor: String,
    endsAfterSeconds: Number,
    createdAt: Date,
    updatedAt: Date,
    startTime: Date,
    endTime: Date,
    microsPerSecond: Number,
    durationSeconds: Number,
    costMicros: Number,
    summary: String,
    transcription: String,
    outputParameters: String,
    hasRecording: Boolean,
    engine: String,
    latencies: { type: Schema.Types.Mixed },
    usage: { type: Schema.Types.Mixed },
    resumptions: Number,
    changes: { type: [changeSchema], default: undefined },
    erasedAt: Date,
  },
  { collection: 'calls', versionKey: false },
);

// Unique only so that every server builds it: the embedded one keeps no other kind of index, and lists page on it.
callSchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
// Lists by what people filter by most; embedded servers skip these, too.
callSchema.index({ accountId: 1, mode: 1, status: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, direction: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, agentId: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, externalCallId: 1, createdAt: -1, _id: 1 });
// The reconciler walks calls in the order of their last change. Embedded servers skip it and scan.
callSchema.index({ updatedAt: 1, _id: 1 });
