import { Schema } from 'mongoose';

export interface AgentDocument {
  _id: string;
  accountId: string;
  name: string;
  instruction: string;
  voice: string;
  language: string;
  /** The template as the interface has it: a JSON object in a string. */
  outputParameters?: string;
  maxDurationSeconds: number;
  ringTimeoutSeconds: number;
  webhookUrl?: string;
  /** The number this agent calls from, one of the account's. */
  phoneNumber?: string;
  createdAt: Date;
  updatedAt: Date;
  archivedAt?: Date;
}

export const agentSchema = new Schema<AgentDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    name: { type: String, required: true },
    instruction: { type: String, required: true },
    voice: { type: String, required: true },
    language: { type: String, required: true },
    outputParameters: String,
    maxDurationSeconds: { type: Number, required: true },
    ringTimeoutSeconds: { type: Number, required: true },
    webhookUrl: String,
    phoneNumber: String,
    createdAt: { type: Date, required: true },
    updatedAt: { type: Date, required: true },
    archivedAt: Date,
  },
  { collection: 'agents', versionKey: false },
);

// Unique only so that every server builds it; lists page on it.
agentSchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
