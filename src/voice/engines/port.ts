import type { AnsweredBy } from '../../kernel/call-state.js';
import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';
import type { RequestOwner } from '../audio/request-queue.js';
import type { FailureReport } from '../models/failure-report.js';
import type { Blame } from './chain/blame.js';
import type { ServedProvider } from './chain/served-providers.js';
import type { CallerFrame } from './chain/unanswered-audio.js';

export type { AnsweredBy, ServedProvider };

/** Values to extract from a conversation, by the template's keys. */
export type ParameterValues = Record<string, string | number | boolean | null>;

/** The data of a call that an engine needs. */
export interface EngineCall {
  callId: string;
  /** The owner of requests to the shared TTS and recognition threads; if absent, they are queued with live calls. */
  requestOwner?: RequestOwner;
  /** The customer's instruction to the agent; `{{name}}` refers to an input parameter. */
  instruction: string;
  voice: string;
  language: string;
  /** Input parameters of the request, for the prompt. */
  inputParameters: Record<string, unknown>;
  /** Keys to extract. A default only defines the type of a value; values that were not said are null in the result. */
  outputTemplate: ParameterValues;
  direction: 'outbound' | 'inbound';
  /** Whether the caller can type words instead of speaking them. */
  canType?: boolean;
  agentName?: string;
  /** Whether the agent must say at once that it is a machine. */
  disclosesAi: boolean;
  voicemail: VoicemailPolicy;
  /** Tools that `sink.runTool` can run, including built-in ones such as `end_call`. */
  tools: readonly ToolDefinition[];
  settings?: ConversationSettings;
  /**
   * Set if the call continues after its stream was lost. The agent does not greet again, but says one bridging
   * sentence, unless the caller noticed no interruption (`unnoticed`). Times of the turns count from the call's first
   * stream.
   */
  resume?: { turns: readonly TranscriptTurn[]; values: ParameterValues; unnoticed?: boolean };
  /** Whether another engine continues the call if this one fails, so that it fails at once and without an apology. */
  hasSuccessor?: boolean;
  /**
   * Set if another engine conducted the stream until now: the time since its start in ms, what the caller has said since
   * the last turn with a transcript, and who has answered, if that engine knew.
   */
  takesOver?: { atMs: number; unanswered: readonly CallerFrame[]; answeredBy?: AnsweredBy };
}

export interface VoicemailPolicy {
  action: 'hang_up' | 'leave_message' | 'continue';
  /** The message that the agent leaves after the tone of an answering machine; only for `leave_message`. */
  message?: string;
}

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: Record<string, unknown>;
}

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** Result of a tool. The model reads it, so it contains nothing that the remote party must not hear. */
export type ToolResult = { ok: true; result: unknown } | { ok: false; error: string };

export interface TranscriptTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** In milliseconds from the start of the stream, as is `endMs`. */
  startMs: number;
  endMs: number;
}

/** How long the caller waited for a reply: from the end of the caller's speech to the reply's first audio, in ms. */
export interface TurnLatency {
  /** Start of the reply, in ms from the start of the stream. */
  atMs: number;
  totalMs: number;
  /** Known parts of the total, in ms: `recogniser` (STT), `model` (LLM), `voice` (TTS), `own` (our processing). */
  parts?: Record<string, number>;
  /** When parts began, in ms from the start of the stream, as far as it is known. */
  begunMs?: Readonly<Record<string, number>>;
}

/** The kind of provider at fault: STT, LLM, TTS or a realtime model, which older records call `model`. */
export type ProviderPart = 'recogniser' | 'model' | 'voice' | 'realtime';

/** A failure of a provider during a call, without keys, phone numbers and words of the call. */
export interface ProviderFailure extends FailureReport {
  part: ProviderPart;
  /** The failure in one sentence, such as `the language model provider responded with status 429`. */
  what: string;
}

/** The cause of a failure. One that the call caused by its content says nothing about other calls. */
export interface FailureCause {
  blame: Blame;
}

/** Provider usage of an engine for one call. */
export interface EngineUsage {
  /** Counts as reported by the providers, such as `input_tokens` or `speech_seconds`. */
  units: Record<string, number>;
  /** Cost at the configured prices in micro-USD; null if a used unit has no price. */
  costMicros: number | null;
  /** If the cost is not known: an estimate that uses typical prices for the units without a configured price. */
  estimatedMicros?: number;
}

/** The reason to stop an engine if another one continues the call, which then also summarizes it. */
export const REPLACED = 'replaced';

/** Reasons for an engine to end the call. */
export type EngineEndReason = 'agent_hangup' | 'silence' | 'voicemail';

export interface EngineResult {
  summary: string;
  outputParameters: ParameterValues;
  /** Absent for an inbound call. */
  answeredBy?: AnsweredBy;
  usage?: EngineUsage;
  /** Settings of the agent that a provider did not have; absent if there were none. */
  ignoredSettings?: readonly (keyof ConversationSettings)[];
  /** The providers that served the call, in the order in which they began to. Absent for an engine without providers. */
  served?: readonly ServedProvider[];
  /** The events of each engine's session as JSON, if recorded; personal data, stored only with the call. */
  sessionLogs?: readonly string[];
}

/**
 * Conducts one call. The stream session owns the carrier's socket, pacing, marks and recording; the engine receives
 * frames and sends audio. All audio is 8 kHz mu-law; a frame is 160 bytes, 20 ms.
 */
export interface Engine {
  readonly name: string;
  readonly capabilities: { freeForm: boolean; dtmf: boolean };
  /** Called when the media stream has started: the agent may speak. */
  start(call: EngineCall, sink: EngineSink): Promise<void>;
  onCallerAudio(frame: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  /** Takes words that the caller typed as a turn of the caller. Absent: the engine only listens. */
  onText?(text: string): void;
  /**
   * Reports how much of an item the remote party has heard, in ms, from the carrier's marks: about every 200 ms, and
   * once more for each item that a clear dropped, before `clear` returns.
   */
  onPlayed(itemId: string, playedMs: number, complete: boolean): void;
  /**
   * Called once, usually 20 seconds before the balance or the duration limit ends the call, so that the engine can wrap
   * up the conversation.
   */
  onEndingSoon?(secondsLeft: number): void;
  /**
   * Reports the carrier's answering machine detection, which is less reliable than the engine's.
   * @returns whether the engine accepts the result; false if a person has talked with the agent
   */
  onAnsweredBy?(who: AnsweredBy): boolean;
  /** The provider usage so far. Absent, or returns undefined: none, or known only at the end. */
  usage?(): EngineUsage | undefined;
  /** Called when the call is over, or another engine takes over; returns the engine's result. Takes at most 5 s. */
  stop(reason: string): Promise<EngineResult>;
}

/** The engine's interface to its call. */
export interface EngineSink {
  /** Queues audio of an item after all queued audio. */
  sendAudio(itemId: string, mulaw: Uint8Array): void;
  /** Ends an item with a mark. `onPlayed` reports the item as complete once it has played. */
  endItem(itemId: string): void;
  /** Drops all audio that has not been played yet, for example on a barge-in. */
  clear(): void;
  storeTurn(turn: TranscriptTurn): void;
  /**
   * Shows what a speaker has said since the last turn, to people who watch the call. The words are never stored with the
   * call: the speaker's next turn replaces them.
   * @param read returns the words; called only if somebody watches
   */
  showInterim(speaker: TranscriptTurn['speaker'], read: () => string): void;
  /**
   * Stores the values known so far, so that another media process can continue the call. Null means that the caller
   * could not or would not give the value.
   */
  storeValues(values: ParameterValues): void;
  storeLatency(latency: TurnLatency): void;
  /** Stores whether a person or a machine answered, so that another media process can continue the call. */
  storeAnsweredBy(who: AnsweredBy): void;
  /**
   * Logs a failure of a provider, and stores it for the call's timeline. The call may survive the failure.
   * @param cause by default what the failure's status and code say
   */
  storeFailure(failure: ProviderFailure, cause?: FailureCause): void;
  /**
   * Runs one of the call's tools. Never rejects, and takes at most 15 s. Like `end`, `end_call` ends the call after the
   * queued audio has played.
   */
  runTool(call: ToolCall): Promise<ToolResult>;
  /** Ends the call after the queued audio has played. */
  end(reason: EngineEndReason): void;
  /** Reports that the engine cannot continue. The call then ends with `media_failed`. */
  fail(error: Error): void;
}

/** Creates one engine per call. Large parts, such as voices and models, are shared by all calls. */
export interface EngineFactory {
  readonly name: string;
  /** Loads voices and models in advance, so that the agent speaks soon after the answer. */
  warm(): Promise<void>;
  create(): Engine;
  close(): Promise<void>;
}
