/** What an engine needs to know of the call it conducts. */
export interface EngineCall {
  callId: string;
  instruction: string;
  voice: string;
  language: string;
  /** Parameters of the request, for the prompt. */
  inputParameters: Record<string, unknown>;
  /** Keys to extract; each value is the default that stands when nothing was said. */
  outputTemplate: Record<string, string | number | boolean | null>;
  direction: 'outbound' | 'inbound';
}

export interface TranscriptTurn {
  speaker: 'agent' | 'caller';
  text: string;
  /** Milliseconds from the start of the stream. */
  startMs: number;
  endMs: number;
}

/** Why an engine wants the call to end. */
export type EngineEnd = 'agent_hangup' | 'silence' | 'voicemail';

export interface EngineResult {
  summary: string;
  outputParameters: Record<string, string | number | boolean | null>;
  answeredBy?: 'human' | 'voicemail' | 'unknown';
}

/**
 * Conducts one call. The stream session owns the carrier's socket, pacing, marks and recording; the engine hears frames
 * and hands out audio. All audio is 8 kHz mu-law; a frame is 160 bytes, 20 ms.
 */
export interface Engine {
  readonly name: string;
  readonly capabilities: { freeForm: boolean; dtmf: boolean; languages: readonly string[] };
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
  metric(name: string, valueMs: number): void;
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
