/** What stands behind the engine; tells whose fault a failure is. */
export type ProviderPart = 'recogniser' | 'model' | 'voice';

/** A provider refused, broke off, fell silent or sent what nobody can read. The message holds no key and no words of the call. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';

  constructor(
    readonly part: ProviderPart,
    message: string,
    /** How long the provider asks to be left alone, in ms. */
    readonly retryAfterMs?: number,
  ) {
    super(`${part}: ${message}`);
  }
}

/** Speech to text. */
export interface SpeechToText {
  /** Tells by meaning when a turn is over; otherwise a pause of the caller's confirms it. */
  readonly decidesTurns: boolean;
  open(language: string, events: RecogniserEvents): RecogniserStream;
}

export interface RecogniserEvents {
  /** The words of the turn so far; later ones may differ. Never empty. */
  onWords(text: string): void;
  /** The turn may be over with these words. */
  onMayEnd(text: string): void;
  /** It is not over after all: the caller goes on. */
  onGoesOn(): void;
  onEnd(text: string): void;
  /** Something came that shows the provider alive. */
  onAlive(): void;
  /** Nothing more will come of this stream. Told once, and never after `close`. */
  onLost(error: ProviderError): void;
}

export interface RecogniserStream {
  /** @param frame 20 ms of 8 kHz mu-law */
  push(frame: Uint8Array): void;
  /** Asks for the words of all audio sent so far, now. */
  hurry(): void;
  /** The turn was ended by somebody else: the words so far belong to it. */
  forget(): void;
  close(): void;
}

export interface ToolRequest {
  id: string;
  name: string;
  /** JSON, as the model wrote it. */
  arguments: string;
}

export type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolRequests?: readonly ToolRequest[] }
  | { role: 'tool'; toolRequestId: string; content: string };

export interface ChatTool {
  name: string;
  description: string;
  /** JSON Schema, an object's. */
  parameters: Record<string, unknown>;
}

export interface ModelUsage {
  /** Cached ones left out. */
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

export type ChatDelta =
  | { kind: 'text'; text: string }
  | { kind: 'tool'; request: ToolRequest }
  | { kind: 'usage'; usage: ModelUsage };

/** A language model. */
export interface ChatModel {
  /**
   * Streams an answer; tool requests come whole, after the text.
   * @throws ProviderError when it is refused, breaks off, or is silent for too long; the signal's reason when aborted
   */
  stream(p: {
    messages: readonly ChatMessage[];
    tools: readonly ChatTool[];
    /** Otherwise it is told of the tools, but has to answer in words. */
    mayCallTools: boolean;
    signal: AbortSignal;
  }): AsyncIterable<ChatDelta>;
}

/** Text to speech. */
export interface TextToSpeech {
  /** Opens a stream for one utterance; what can be done ahead of the first sentence is done now. */
  open(voice: string, language: string, events: SpeechEvents): SpeechStream;
}

export interface SpeechEvents {
  /** @param mulaw 8 kHz mu-law of any length */
  onAudio(mulaw: Uint8Array): void;
  /** All audio since the last such word speaks this text. Providers that do not tell leave it out. */
  onSpoken(text: string): void;
  /** Everything that was said has come as audio. */
  onDone(): void;
  /** Told once, and never after `cancel`. */
  onLost(error: ProviderError): void;
}

export interface SpeechStream {
  /** @param text one sentence or more, without markup */
  say(text: string): void;
  /** Nothing more will be said. */
  finish(): void;
  cancel(): void;
}
