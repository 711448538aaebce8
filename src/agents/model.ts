import { Schema, type SchemaDefinition } from 'mongoose';
import type { Mode } from '../kernel/ids.js';
import type { Pronunciation } from '../kernel/conversation/conversation-settings.js';
import { AGENT_FIELD_LIST, type AgentFields } from './agent-definition.js';
import type { FieldDefinition, FieldKind } from './fields/field-definition.js';

/** A header of a tool. Its value is encrypted and can be decrypted only for the origin of the tool's URL. */
export interface StoredHeader {
  name: string;
  sealed: string;
}

/** An HTTP tool: a request an agent may make to a customer's server during a call. */
export interface HttpTool {
  name: string;
  description: string;
  method: 'GET' | 'POST';
  url: string;
  /** JSON Schema of the arguments object, encoded as a string. */
  parameters: string;
  headers?: StoredHeader[];
}

/** Agent fields as stored: tools have encrypted headers, and the engine may no longer exist. */
export type StoredAgentFields = Omit<AgentFields, 'engine' | 'tools'> & { engine?: string; tools?: HttpTool[] };

export interface AgentDocument extends StoredAgentFields {
  _id: string;
  accountId: string;
  /** Live calls cannot use test agents. Absent in agents created before modes existed, which are live. */
  mode?: Mode;
  createdAt: Date;
  updatedAt: Date;
  archivedAt?: Date;
}

/** An agent as read for a list, without the header values of its tools. */
export type ListedAgent = Omit<AgentDocument, 'tools'> & { tools?: ListedTool[] };
export type ListedTool = Omit<HttpTool, 'headers'> & { headers?: Pick<StoredHeader, 'name'>[] };

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

const pronunciationSchema = new Schema<Pronunciation>({ text: String, spoken: String }, { _id: false });

/** Schema type of each field kind. */
const STORED_KINDS: { [K in FieldKind['kind']]: unknown } = {
  label: String,
  text: String,
  word: String,
  language: String,
  template: String,
  url: String,
  phoneNumber: String,
  choice: String,
  providerId: String,
  seconds: Number,
  number: Number,
  choices: { type: [String], default: undefined },
  yesNo: Boolean,
  phoneNumbers: { type: [String], default: undefined },
  terms: { type: [String], default: undefined },
  pronunciations: { type: [pronunciationSchema], default: undefined },
  tools: { type: [httpToolSchema], default: undefined },
};

/** Schema definition of agent fields. By default every field that is not optional is required. */
export function storedAgentFields(fields: readonly FieldDefinition[], required = isRequired): SchemaDefinition {
  const entries = fields.map((field) => {
    const type = STORED_KINDS[field.kind];
    return [field.stored, required(field) ? { type, required: true } : type];
  });
  return Object.fromEntries(entries) as SchemaDefinition;
}

function isRequired({ presence }: FieldDefinition): boolean {
  return presence !== 'optional';
}

export const agentSchema = new Schema<AgentDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    mode: String,
    ...storedAgentFields(AGENT_FIELD_LIST),
    createdAt: { type: Date, required: true },
    updatedAt: { type: Date, required: true },
    archivedAt: Date,
  },
  { collection: 'agents', versionKey: false },
);

// For paged lists. The index is unique only because the embedded server builds no other kind.
agentSchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
