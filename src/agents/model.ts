import { Schema, type SchemaDefinition } from 'mongoose';
import type { Mode } from '../kernel/ids.js';
import { AGENT_FIELD_LIST, type AgentFields, type FieldDefinition, type FieldKind } from './agent-definition.js';

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

/** The fields of an agent as they are stored: tools with sealed headers, and an engine that may have been withdrawn. */
export type StoredAgentFields = Omit<AgentFields, 'engine' | 'tools'> & { engine?: string; tools?: HttpTool[] };

export interface AgentDocument extends StoredAgentFields {
  _id: string;
  accountId: string;
  /** Live calls know no test agents. Absent in agents from before there were any: live. */
  mode?: Mode;
  createdAt: Date;
  updatedAt: Date;
  archivedAt?: Date;
}

/** An agent in a list: the values of its tools' headers are not read. */
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

/** How each kind of field is stored. */
const STORED_KINDS: { [K in FieldKind['kind']]: unknown } = {
  label: String,
  text: String,
  word: String,
  language: String,
  template: String,
  url: String,
  phoneNumber: String,
  choice: String,
  seconds: Number,
  yesNo: Boolean,
  phoneNumbers: { type: [String], default: undefined },
  tools: { type: [httpToolSchema], default: undefined },
};

/** Fields of agents as a schema stores them; what an agent cannot be without is required, unless said otherwise. */
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

// Unique only so that every server builds it; lists page on it.
agentSchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
