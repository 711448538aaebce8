import { Schema } from 'mongoose';
import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';

export interface StoredTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** Ms from the start of the call's first stream. */
  startMs: number;
  endMs: number;
}

export interface StoredLatency {
  /** When the reply began, ms from the start of the call's first stream. */
  atMs: number;
  totalMs: number;
  parts?: Record<string, number>;
}

export interface StoredUsage {
  units: Record<string, number>;
  /** Micro-USD; null when no prices are configured. */
  costMicros: number | null;
}

/** What the media server saw of a call, checkpointed while it talks. Written by the media server alone. */
export interface ConversationResultDocument {
  _id: string;
  carrierSid: string;
  /** The carrier's identifier of the stream that has the row; a new one takes it over, and the old one's writes are then refused. */
  streamSid: string;
  /** The number of that stream: how many came before it. */
  resumptions?: number;
  /** The start of the call's first stream. */
  startedAt: Date;
  /** Whether the far end has played any agent audio, by the carrier's marks. */
  agentAudioPlayed: boolean;
  turns: StoredTurn[];
  engine: string;
  /** What was said of the values to extract, and nothing else: JSON object in a string. */
  values?: string;
  latencies?: StoredLatency[];
  /** Of all engines that had a part in the call; of one that was killed nothing is known. */
  usage?: StoredUsage;
  /** Absent while the call may go on, and for ever when its last stream was lost. */
  endedAt?: Date;
  endReason?: MediaEndReason;
  /** The number the call was put through to. */
  transferTo?: string;
  answeredBy?: AnsweredBy;
  summary?: string;
  /** The template with what is known filled in: JSON object in a string. */
  outputParameters?: string;
  /** Absent while it is not known yet. */
  hasRecording?: boolean;
  /** One for each stream whose session was recorded: JSON, with what was said. Operators alone read them. */
  sessionLogs?: string[];
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
    resumptions: Number,
    startedAt: { type: Date, required: true },
    agentAudioPlayed: { type: Boolean, required: true },
    turns: { type: [turnSchema], default: [] },
    engine: { type: String, required: true },
    values: String,
    latencies: { type: Schema.Types.Mixed },
    usage: { type: Schema.Types.Mixed },
    endedAt: Date,
    endReason: String,
    transferTo: String,
    answeredBy: String,
    summary: String,
    outputParameters: String,
    hasRecording: Boolean,
    sessionLogs: { type: [String], default: undefined },
  },
  { collection: 'conversation_results', versionKey: false },
);
