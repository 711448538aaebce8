import { Schema } from 'mongoose';
import { conversationSettingsFields, type ConversationSettings } from './model.js';

/** The agent as it was when the call was asked for; later edits do not reach a running call. */
export interface AgentSnapshot extends ConversationSettings {
  agentId: string;
  /** Absent for a temporary agent. */
  name?: string;
  instruction: string;
  voice: string;
  language: string;
  /** JSON object in a string: the template of this call. */
  outputParameters?: string;
}

export const agentSnapshotSchema = new Schema<AgentSnapshot>(
  {
    agentId: { type: String, required: true },
    name: String,
    instruction: { type: String, required: true },
    voice: { type: String, required: true },
    language: { type: String, required: true },
    outputParameters: String,
    ...conversationSettingsFields,
  },
  { _id: false },
);
