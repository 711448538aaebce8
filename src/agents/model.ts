import { Schema, type SchemaDefinition } from 'mongoose';
import type { Mode } from '../kernel/ids.js';
import type { VoicemailAction } from '../kernel/voicemail.js';

/** A header with a secret value, sealed for the origin of its tool's URL. */
export interface StoredHeader {
  name: string;
  sealed: string;
}

/** A request that an agent may make during a call, to a server of the customer's. */
export interface HttpTool {
  name: string;
  description: string;
  method: 'GET' | 'POST';
  url: string;
  /** JSON Schema of the arguments, an object's, in a string. */
  parameters: string;
  headers?: StoredHeader[];
}

/**
 * How an agent conducts a conversation, beside what it says. Absent: the engine the service is configured with, AI
 * disclosed, voicemails hung up on, no transfers, no tools.
 */
export interface ConversationSettings {
  engine?: string;
  aiDisclosure?: boolean;
  voicemailAction?: VoicemailAction;
  /** Said after the tone. */
  voicemailMessage?: string;
  /** The only numbers that the agent may transfer a call to. */
  transferNumbers?: string[];
  tools?: HttpTool[];
}

export interface AgentDocument extends ConversationSettings {
  _id: string;
  accountId: string;
  /** Live calls know no test agents. Absent in agents from before there were any: live. */
  mode?: Mode;
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

const httpToolSchema = new Schema<HttpTool>(
  {
    name: String,
    description: String,
    method: String,
    url: String,
    parameters: String,
    headers: { type: [new Schema<StoredHeader>({ name: String, sealed: String }, { _id: false })], default: undefined },
  },
  { _id: false },
);

/** How `ConversationSettings` are stored, in the agent and in the request of each call. */
export const conversationSettingsFields = {
  engine: String,
  aiDisclosure: Boolean,
  voicemailAction: String,
  voicemailMessage: String,
  transferNumbers: { type: [String], default: undefined },
  tools: { type: [httpToolSchema], default: undefined },
} satisfies SchemaDefinition<ConversationSettings>;

export const agentSchema = new Schema<AgentDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    mode: String,
    name: { type: String, required: true },
    instruction: { type: String, required: true },
    voice: { type: String, required: true },
    language: { type: String, required: true },
    outputParameters: String,
    maxDurationSeconds: { type: Number, required: true },
    ringTimeoutSeconds: { type: Number, required: true },
    webhookUrl: String,
    phoneNumber: String,
    ...conversationSettingsFields,
    createdAt: { type: Date, required: true },
    updatedAt: { type: Date, required: true },
    archivedAt: Date,
  },
  { collection: 'agents', versionKey: false },
);

// Unique only so that every server builds it; lists page on it.
agentSchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
