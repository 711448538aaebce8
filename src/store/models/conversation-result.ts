import { Schema } from 'mongoose';
import type { AnsweredBy, MediaEndReason } from '../../domain/call-state.js';

export interface StoredTurn {
  speaker: 'agent' | 'caller';
  text: string;
  startMs: number;
  endMs: number;
}

/** What the media server saw of a call, checkpointed while it talks. Written by the media server alone. */
export interface ConversationResultDocument {
  _id: string;
  carrierSid: string;
  streamSid: string;
  startedAt: Date;
  /** Whether the far end has played any agent audio, by the carrier's marks. */
  agentAudioPlayed: boolean;
  turns: StoredTurn[];
  engine: string;
  endedAt?: Date;
  endReason?: MediaEndReason;
  /** The number the call was put through to. */
  transferTo?: string;
  answeredBy?: AnsweredBy;
  summary?: string;
  /** JSON object in a string. */
  outputParameters?: string;
  hasRecording?: boolean;
}

const turnSchema = new Schema<StoredTurn>(
  { speaker: String, text: String, startMs: Number, endMs: Number },
  { _id: false },
);

export const conversationResultSchema = new Schema<ConversationResultDocument>(
  {
    _id: String,
    carrierSid: { type: String, required: true },
    streamSid: { type: String, required: true },
    startedAt: { type: Date, required: true },
    agentAudioPlayed: { type: Boolean, required: true },
    turns: { type: [turnSchema], default: [] },
    engine: { type: String, required: true },
    endedAt: Date,
    endReason: String,
    transferTo: String,
    answeredBy: String,
    summary: String,
    outputParameters: String,
    hasRecording: Boolean,
  },
  { collection: 'conversation_results', versionKey: false },
);
