import { Schema } from 'mongoose';
import type { Direction } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { Micros } from '../kernel/money.js';
import { agentSnapshotSchema, type AgentSnapshot } from '../agents/agent-snapshot.js';

/**
 * What was asked for, written once by the API before the workflow starts and never changed, but that its agent's
 * tools go when the call has ended. Everything personal about a
 * call is here, so that the workflow's history needs only ids.
 */
export interface CallRequestDocument {
  _id: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  fromPhoneNumber: string;
  toPhoneNumber: string;
  agent: AgentSnapshot;
  /** JSON object in a string, `{}` when none was given. */
  inputParameters: string;
  externalCallId: string;
  webhookUrl?: string;
  ringTimeoutSeconds: number;
  maxDurationSeconds: number;
  /** The call's price, whatever becomes of the rate deck meanwhile. Absent in requests from before: the default. */
  microsPerSecond?: Micros;
  /** Known from the start for inbound calls only. */
  carrierSid?: string;
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
    carrierSid: String,
    createdAt: { type: Date, required: true },
  },
  { collection: 'call_requests', versionKey: false },
);
// For the reconciler, which walks by age.
callRequestSchema.index({ createdAt: 1, _id: 1 });
