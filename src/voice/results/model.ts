import { Schema } from 'mongoose';
import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { ProviderFailure } from '../engines/port.js';

export interface StoredTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** In ms from the start of the call's first stream, as is `endMs`. */
  startMs: number;
  endMs: number;
}

export interface StoredLatency {
  /** Start of the reply, in ms from the start of the call's first stream. */
  atMs: number;
  totalMs: number;
  parts?: Record<string, number>;
}

/** A tool call of the model. Arguments and result are shortened texts, so that a call's document stays small. */
export interface StoredToolCall {
  name: string;
  /** Start of the tool call, in ms from the start of the call's first stream. */
  atMs: number;
  durationMs: number;
  ok: boolean;
  /** The arguments as JSON. */
  arguments: string;
  /** The result that the model read, as text or JSON, or the error. */
  result: string;
}

export interface StoredUsage {
  units: Record<string, number>;
  /** In micro-USD; null if a used unit has no price. */
  costMicros: number | null;
}

export type StoredFailure = ProviderFailure & { at: Date };

/** A provider that served a part of the call. */
export interface StoredProvider {
  stage: 'stt' | 'llm' | 'tts' | 'realtime';
  /** The provider's protocol, such as `deepgram`. */
  provider: string;
  model: string;
  /** 1 for the first provider of its stage, 2 and more for its alternatives. */
  number: number;
  /** When it began to serve, in ms from the start of the call's first stream. */
  fromMs: number;
}

/** The media server's result of a call, checkpointed during the call. Only the media server writes it. */
export interface ConversationResultDocument {
  _id: string;
  carrierSid: string;
  /** The carrier's id of the stream that owns the row. After a new stream takes over, writes of the old one fail. */
  streamSid: string;
  /** The number of the stream that owns the row: how many streams of the call came before it. */
  resumptions?: number;
  /** Start of the call's first stream. */
  startedAt: Date;
  /** Whether the remote party has heard any agent audio, according to the carrier's marks. */
  agentAudioPlayed: boolean;
  turns: StoredTurn[];
  engine: string;
  /** The values extracted so far, without keys that have no value yet: a JSON object as a string. */
  values?: string;
  latencies?: StoredLatency[];
  /** Set for test calls; absent in rows of the first versions. */
  test?: true;
  /** The first tool calls. They are deleted with the call's recording. */
  toolCalls?: StoredToolCall[];
  /** Sum over all engines of the call. It lacks the usage of engines whose process was killed. */
  usage?: StoredUsage;
  /** The first failures of providers. */
  failures?: StoredFailure[];
  /** The providers that served the call, in the order in which they began to. */
  served?: StoredProvider[];
  /** Absent while the call may continue. Never set if the call's last stream was lost. */
  endedAt?: Date;
  endReason?: MediaEndReason;
  /** The phone number that the call was transferred to. */
  transferTo?: string;
  answeredBy?: AnsweredBy;
  summary?: string;
  /** The template filled with the known values: a JSON object as a string. */
  outputParameters?: string;
  /** Stored names of settings of the agent that a provider did not have. */
  ignoredSettings?: string[];
  /** When the words were removed, because the agent keeps none. The call has ended. */
  wordsDroppedAt?: Date;
  /** Whether a readable recording exists; absent until this is known. */
  hasRecording?: boolean;
  /** JSON logs of the call's sessions, which contain the words spoken. Only operators can read them. */
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
    test: Boolean,
    toolCalls: { type: Schema.Types.Mixed },
    usage: { type: Schema.Types.Mixed },
    failures: { type: Schema.Types.Mixed },
    served: { type: Schema.Types.Mixed },
    endedAt: Date,
    endReason: String,
    transferTo: String,
    answeredBy: String,
    summary: String,
    outputParameters: String,
    ignoredSettings: { type: [String], default: undefined },
    wordsDroppedAt: Date,
    hasRecording: Boolean,
    sessionLogs: { type: [String], default: undefined },
  },
  { collection: 'conversation_results', versionKey: false },
);

// The sweep of old tool calls needs these indexes, because it queries by age. Embedded servers scan instead.
const withToolCalls = { partialFilterExpression: { toolCalls: { $exists: true } } };
conversationResultSchema.index({ startedAt: 1 }, withToolCalls);
conversationResultSchema.index({ test: 1, startedAt: 1 }, withToolCalls);
