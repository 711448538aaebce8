import { Schema } from 'mongoose';
import type { Direction } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { Micros } from '../kernel/money.js';
import { agentSnapshotSchema, type AgentSnapshot } from '../agents/agent-snapshot.js';

/**
 * A requested call, written once before the workflow starts. Later changes only remove data: the agent's tools when the
 * call ends, and personal data when the call is erased. Personal data is stored here so that the workflow's history
 * contains only ids.
 */
export interface CallRequestDocument {
  _id: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  fromPhoneNumber: string;
  toPhoneNumber: string;
  agent: AgentSnapshot;
  /** JSON object encoded as a string; `{}` if none was given. */
  inputParameters: string;
  externalCallId: string;
  webhookUrl?: string;
  ringTimeoutSeconds: number;
  maxDurationSeconds: number;
  /** The call's price, fixed when the call is requested. Older documents have none; then the default rate applies. */
  microsPerSecond?: Micros;
  /** Percent-encoded names of fields of the request that the interface does not know. Absent if there were none. */
  unknownFields?: readonly string[];
  /**
   * The carrier's id of the account that has the call, chosen with the request and never changed. Older documents and those
   * of calls from a browser have none.
   */
  carrierAccountId?: string;
  /** The carrier's call id. Set for inbound calls only, because for these it is known before the call starts. */
  carrierSid?: string;
  /** How long the call waits for its first media stream, if that is not the default. */
  streamWithinMs?: number;
  /** The X-Request-Id of the request that placed the call. Older documents have none. */
  requestId?: string;
  createdAt: Date;
}

export const callRequestSchema = new Schema<CallRequestDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    mode: { type: String, enum: ['live', 'test'], required: true },
    direction: { type: String, enum: ['outbound', 'inbound'], required: true },
    fromPhoneNumber: { type: String, required: true },
    toPhoneNumber: { type: String, required: true },
    agent: { type: agentSnapshotSchema, required: true },
    inputParameters: { type: String, required: true },
    externalCallId: { type: String, default: '' },
    webhookUrl: String,
    ringTimeoutSeconds: { type: Number, required: true },
    maxDurationSeconds: { type: Number, required: true },
    microsPerSecond: Number,
    unknownFields: { type: [String], default: undefined },
    carrierAccountId: String,
    carrierSid: String,
    streamWithinMs: Number,
    requestId: String,
    createdAt: { type: Date, required: true },
  },
  { collection: 'call_requests', versionKey: false },
);
// The reconciler reads requests in the order of their creation.
callRequestSchema.index({ createdAt: 1, _id: 1 });
