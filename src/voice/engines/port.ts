import type { AnsweredBy } from '../../kernel/call-state.js';
import type { Asker } from '../audio/turns.js';

export type { AnsweredBy };

/** Values to extract from a conversation, by the template's keys. */
export type ParameterValues = Record<string, string | number | boolean | null>;

/** What an engine needs to know about its call. */
export interface EngineCall {
  callId: string;
  /** The call that requests to the shared TTS and recognition threads are queued for; default: the process itself. */
  askedBy?: Asker;
  /** The customer's text; `{{name}}` refers to an input parameter. */
  instruction: string;
  voice: string;
  language: string;
  /** Input parameters of the request, for the prompt. */
  inputParameters: Record<string, unknown>;
  /** Keys to extract; each default only defines the kind of value. Values not said are null in the result. */
  outputTemplate: ParameterValues;
  direction: 'outbound' | 'inbound';
  agentName?: string;
  /** Whether the agent must say at once that it is a machine. */
  disclosesAi: boolean;
  voicemail: VoicemailPolicy;
  /** Tools for `sink.tool`, including built-in ones such as `end_call`. */
  tools: readonly ToolDefinition[];
  /**
   * Set if the call continues after its stream was lost: no second greeting, but one bridging sentence. Times of the
   * turns count from the call's first stream. `unnoticed`: the caller noticed no interruption, so there is nothing to
   * bridge.
   */
  resume?: { turns: readonly TranscriptTurn[]; values: ParameterValues; unnoticed?: boolean };
}

export interface VoicemailPolicy {
  action: 'hang_up' | 'leave_message' | 'continue';
  /** Spoken after the tone; only for `leave_message`. */
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

/** `result` and `error` are read by the model; neither contains anything that the remote party must not hear. */
export type ToolAnswer = { ok: true; result: unknown } | { ok: false; error: string };

export interface TranscriptTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** In milliseconds from the start of the stream, as is `endMs`. */
  startMs: number;
  endMs: number;
}

/** How long the caller waited for a reply: from the end of their speech to its first audio, in ms. */
export interface TurnLatency {
  /** Start of the reply, in ms from the start of the stream. */
  atMs: number;
  totalMs: number;
  /** Known parts of the total by cause, in ms: `recogniser`, `model`, `voice`, `own`. */
  parts?: Record<string, number>;
}

/** Provider usage of an engine for one call. */
export interface EngineUsage {
  /** Counts as reported by the providers, such as `input_tokens` or `speech_seconds`. */
  units: Record<string, number>;
  /** Cost at the configured prices in micro-USD; null if a used unit has no price. */
  costMicros: number | null;
}

/** Reasons for an engine to end the call. */
export type EngineEnd = 'agent_hangup' | 'silence' | 'voicemail';

export interface EngineResult {
  summary: string;
  outputParameters: ParameterValues;
  /** Absent for an inbound call. */
  answeredBy?: AnsweredBy;
  usage?: EngineUsage;
  /** The session's events as JSON, if recorded; personal data, stored only with the call. */
  sessionLog?: string;
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
  /**
   * Reports how much of an item the remote party has heard, in ms, from the carrier's marks: about every 200 ms, and
   * once more for each item that a clear dropped, before `clear` returns.
   */
  onPlayed(itemId: string, playedMs: number, complete: boolean): void;
  /**
   * Called once, usually 20 seconds before the balance or the duration limit ends the call: time to wrap up. The engine
   * need not react.
   */
  onEndingSoon?(secondsLeft: number): void;
  /** The carrier's answering machine detection; the engine's own detection may know better. */
  onAnsweredBy?(who: AnsweredBy): void;
  /** Called when the call is over; returns the engine's result. Takes at most 5 s. */
  stop(reason: string): Promise<EngineResult>;
}

/** The engine's interface to its call. */
export interface EngineSink {
  /** Queues audio of an item after all queued audio. */
  audio(itemId: string, mulaw: Uint8Array): void;
  /** Ends an item: a mark is sent, and `onPlayed(complete)` follows once it has played. */
  endOfItem(itemId: string): void;
  /** Drops all audio that is not played yet, on a barge-in. */
  clear(): void;
  transcript(turn: TranscriptTurn): void;
  /**
   * Stores the values known so far, with null for those the caller could not or would not give, so that another media
   * process can continue the call.
   */
  values(values: ParameterValues): void;
  latency(latency: TurnLatency): void;
  /** Stores who answered, as far as known, so that another media process can continue the call. */
  answeredBy(who: AnsweredBy): void;
  /**
   * Runs one of the call's tools. Never rejects; takes at most 15 s. `end_call` lets the queued audio play first, like
   * `end`.
   */
  tool(call: ToolCall): Promise<ToolAnswer>;
  /** Ends the call after the queued audio has played. */
  end(reason: EngineEnd): void;
  /** Reports that the engine cannot continue: the call ends as `media_failed`. */
  fail(error: Error): void;
}

/** Creates one engine per call; heavy parts (voices, models) are shared. */
export interface EngineFactory {
  readonly name: string;
  /** Preloads what it can, so that the agent speaks soon after the answer. */
  warm(): Promise<void>;
  create(): Engine;
  close(): Promise<void>;
}
