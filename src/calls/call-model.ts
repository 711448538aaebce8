import { Schema } from 'mongoose';
import { CALL_STATUSES, END_REASONS } from '../kernel/call-state.js';
import type { CallStatus, EndReason } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { Micros } from '../kernel/money.js';
import type { StoredLatency, StoredUsage } from '../voice/results/model.js';
import type { CompletedCall } from '../webhooks/payload.js';

/**
 * The read model of a call, for the API, the portal and the webhook. Only the projection writes it, each time with a
 * higher sequence number. A document without an account is the tombstone of a call that must not appear: it blocks late
 * writes, and queries by account do not find it. The tombstone of a call past its retention also has the call's owner,
 * status and bill.
 */
export interface CallDocument extends CompletedCall {
  sequence: number;
  externalCallId: string;
  carrierSid?: string;
  /** Why the call is IDLE. `dial_slot`: the call waits for a dial slot, because the carrier limits calls per second. */
  waitingFor?: 'dial_slot';
  /** Seconds after the answer at which the balance or the duration limit ends the call; absent while not known. */
  endsAfterSeconds?: number;
  /** Copied from the call's request. */
  microsPerSecond?: Micros;
  engine?: string;
  /** How long the remote party waited for each of the agent's responses. */
  latencies?: StoredLatency[];
  /** Usage of the engine's providers (STT, LLM, TTS). */
  usage?: StoredUsage;
  /** Number of new media streams after a lost one. */
  resumptions?: number;
  /** Every applied change, in order; about twenty at most. */
  changes?: StoredChange[];
  /** When the personal data was erased. */
  erasedAt?: Date;
  /** When the texts were deleted after their retention. */
  textsExpiredAt?: Date;
  /** The account and mode of a call past its retention. Only the tombstones of such calls have it. */
  owner?: CallOwner;
}

/** The account and mode of a call that was deleted, under a name that no query of calls uses. */
export interface CallOwner {
  accountId: string;
  mode: Mode;
}

/** One change of the read model, shown in the call's timeline. */
export interface StoredChange {
  sequence: number;
  /** The workflow's clock at the change. */
  at: Date;
  status?: CallStatus;
  endReason?: EndReason;
  waitingFor?: 'dial_slot';
  /** Null: the call has no forced end any more. */
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
    textsExpiredAt: Date,
    owner: { type: Schema.Types.Mixed },
  },
  { collection: 'calls', versionKey: false },
);

// For paged lists. The index is unique only because the embedded server builds no other kind.
callSchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
// For lists with the most frequent filters. Embedded servers do not build these indexes.
callSchema.index({ accountId: 1, mode: 1, status: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, direction: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, agentId: 1, createdAt: -1, _id: 1 });
callSchema.index({ accountId: 1, mode: 1, externalCallId: 1, createdAt: -1, _id: 1 });
// The reconciler reads calls in the order of their last change. Embedded servers lack this index and scan all calls.
callSchema.index({ updatedAt: 1, _id: 1 });
