import type { AnsweredBy } from '../../kernel/call-state.js';
import type { Asker } from '../audio/turns.js';

export type { AnsweredBy };

/** Values to extract from a conversation, by the template's keys. */
export type ParameterValues = Record<string, string | number | boolean | null>;

/** What an engine needs to know of the call it conducts. */
export interface EngineCall {
  callId: string;
  /** In whose turn the threads of offline speech and recognition work for it; in the process's own unless told. */
  askedBy?: Asker;
  /** As the customer wrote it; `{{name}}` stands for an input parameter. */
  instruction: string;
  voice: string;
  language: string;
  /** Parameters of the request, for the prompt. */
  inputParameters: Record<string, unknown>;
  /** Keys to extract; each value tells the kind of answer. What was not said is null in the result, never this value. */
  outputTemplate: ParameterValues;
  direction: 'outbound' | 'inbound';
  agentName?: string;
  /** Whether the far end is told at once that it talks with a machine. */
  disclosesAi: boolean;
  voicemail: VoicemailPolicy;
  /** What the engine may call by `sink.tool`, `end_call` and the like included. */
  tools: readonly ToolDefinition[];
  /**
   * The call was cut off from its media process and goes on here: no second greeting, one bridging sentence. The turns'
   * times count from the call's first stream.
   */
  resume?: { turns: readonly TranscriptTurn[]; values: ParameterValues };
}

export interface VoicemailPolicy {
  action: 'hang_up' | 'leave_message' | 'continue';
  /** What is said after the tone; `leave_message` only. */
  message?: string;
}

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema of its arguments, an object's. */
  parameters: Record<string, unknown>;
}

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** `result` and `error` are for the model to read; neither holds anything that the far end must not hear. */
export type ToolAnswer = { ok: true; result: unknown } | { ok: false; error: string };

export interface TranscriptTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** Milliseconds from the start of the stream. */
  startMs: number;
  endMs: number;
}

/** How long the far end waited for an answer: from the end of its words to the first audio of the reply, in ms. */
export interface TurnLatency {
  /** When the reply began, from the start of the stream. */
  atMs: number;
  totalMs: number;
  /** Shares of it that are known, by what took them: `recogniser`, `model`, `voice`, `own`. */
  parts?: Record<string, number>;
}

/** What the providers behind an engine took for a call. */
export interface EngineUsage {
  /** Counts as the providers report them, like `input_tokens`, `speech_seconds`. */
  units: Record<string, number>;
  /** What these cost by the configured prices, micro-USD; null when no prices are configured. */
  costMicros: number | null;
}

/** Why an engine wants the call to end. */
export type EngineEnd = 'agent_hangup' | 'silence' | 'voicemail';

export interface EngineResult {
  summary: string;
  outputParameters: ParameterValues;
  /** Absent in an inbound call. */
  answeredBy?: AnsweredBy;
  usage?: EngineUsage;
  /** The session's events where they are recorded, as JSON; personal data, stored with the call and nowhere else. */
  sessionLog?: string;
}

/**
 * Conducts one call. The stream session owns the carrier's socket, pacing, marks and recording; the engine hears frames
 * and hands out audio. All audio is 8 kHz mu-law; a frame is 160 bytes, 20 ms.
 */
export interface Engine {
  readonly name: string;
  readonly capabilities: { freeForm: boolean; dtmf: boolean };
  /** The line is open: begin to speak. */
  start(call: EngineCall, sink: EngineSink): Promise<void>;
  onCallerAudio(frame: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  /**
   * How much of an item the far end has really heard, in ms, from the carrier's marks: about every 200 ms, and once more
   * for each item that a clear dropped, before `clear` returns.
   */
  onPlayed(itemId: string, playedMs: number, complete: boolean): void;
  /**
   * Money or the duration limit will end the call in so many seconds, usually 20: time to wrap up. Told once; the engine
   * need not do anything.
   */
  onEndingSoon?(secondsLeft: number): void;
  /** The carrier's own detection heard who answered; the engine may know better by what it hears itself. */
  onAnsweredBy?(who: AnsweredBy): void;
  /** The call is over; give back what the engine made of it. Takes at most 5 s. */
  stop(reason: string): Promise<EngineResult>;
}

/** What an engine may do to the line. */
export interface EngineSink {
  /** Queues audio of an item behind what is queued already. */
  audio(itemId: string, mulaw: Uint8Array): void;
  /** No more audio will come for the item: a mark is sent, `onPlayed(complete)` follows when it was heard. */
  endOfItem(itemId: string): void;
  /** Barge-in: drops everything not yet played. */
  clear(): void;
  transcript(turn: TranscriptTurn): void;
  /**
   * What is known so far of the values to extract, null for what nobody could be got to say; kept, so that another media
   * process can go on with it.
   */
  values(values: ParameterValues): void;
  latency(latency: TurnLatency): void;
  /** Who answered, as far as the engine knows now; kept, so that another media process can go on with it. */
  answeredBy(who: AnsweredBy): void;
  /**
   * Does what one of the call's tools stands for. Never rejects; takes at most 15 s.
   * `end_call` lets what is queued be heard first, like `end`.
   */
  tool(call: ToolCall): Promise<ToolAnswer>;
  /** Close the line after what is queued has been played. */
  end(reason: EngineEnd): void;
  /** The engine cannot go on: the call ends as media_failed. */
  fail(error: Error): void;
}

/** Makes the engine of one call; heavy parts (voices, models) are shared by the factory. */
export interface EngineFactory {
  readonly name: string;
  /** Loads what can be loaded ahead, so that the first word comes soon after the answer. */
  warm(): Promise<void>;
  create(): Engine;
  close(): Promise<void>;
}
