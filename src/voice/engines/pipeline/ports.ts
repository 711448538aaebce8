/** The kind of provider at fault: STT, LLM or TTS. */
export type ProviderPart = 'recogniser' | 'model' | 'voice';

/** A provider rejected a request, disconnected, stalled or sent invalid data. The message has no keys or call text. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';

  constructor(
    readonly part: ProviderPart,
    message: string,
    /** How long the provider asks to wait before a retry, in ms. */
    readonly retryAfterMs?: number,
  ) {
    super(`${part}: ${message}`);
  }
}

/** Speech to text. */
export interface SpeechToText {
  /** Whether the provider decides the end of a turn by meaning; otherwise VAD must confirm it by a pause. */
  readonly decidesTurns: boolean;
  open(language: string, events: RecogniserEvents): RecogniserStream;
}

export interface RecogniserEvents {
  /** Interim transcript of the turn so far; later ones may differ. Never empty. */
  onWords(text: string): void;
  /** The turn may have ended with this transcript. */
  onMayEnd(text: string): void;
  /** The turn has not ended after all: the caller continues. */
  onGoesOn(): void;
  onEnd(text: string): void;
  /** Any message that shows that the provider is alive. */
  onAlive(): void;
  /** The stream has failed. Called at most once, and never after `close`. */
  onLost(error: ProviderError): void;
}

export interface RecogniserStream {
  /** @param frame 20 ms of 8 kHz mu-law */
  push(frame: Uint8Array): void;
  /** Requests the transcript of all audio sent so far without delay. */
  hurry(): void;
  /** The session ended the turn itself: discard the transcript so far. */
  forget(): void;
  close(): void;
}

export interface ToolRequest {
  id: string;
  name: string;
  /** JSON as written by the model. */
  arguments: string;
}

export type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolRequests?: readonly ToolRequest[] }
  | { role: 'tool'; toolRequestId: string; content: string };

export interface ChatTool {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>;
}

export interface ModelUsage {
  /** Without cached tokens. */
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

export type ChatDelta =
  | { kind: 'text'; text: string }
  | { kind: 'tool'; request: ToolRequest }
  | { kind: 'usage'; usage: ModelUsage };

/** An LLM. */
export interface ChatModel {
  /**
   * Streams a reply; each tool call arrives complete, after the text.
   * @throws ProviderError if the request is rejected, breaks off or stalls; the signal's reason if aborted
   */
  stream(p: {
    messages: readonly ChatMessage[];
    tools: readonly ChatTool[];
    /** If false, the tools are listed, but the model must answer in words. */
    mayCallTools: boolean;
    signal: AbortSignal;
  }): AsyncIterable<ChatDelta>;
}

/** Text to speech. */
export interface TextToSpeech {
  /** Opens a stream for one utterance, and prepares what it can before the first sentence. */
  open(voice: string, language: string, events: SpeechEvents): SpeechStream;
}

export interface SpeechEvents {
  /** @param mulaw 8 kHz mu-law of any length */
  onAudio(mulaw: Uint8Array): void;
  /** The text of all audio since the last call; providers without this information never call it. */
  onSpoken(text: string): void;
  /** All text has arrived as audio. */
  onDone(): void;
  /** The stream has failed. Called at most once, and never after `cancel`. */
  onLost(error: ProviderError): void;
}

export interface SpeechStream {
  /** @param text one sentence or more, without markup */
  say(text: string): void;
  /** No more text follows. */
  finish(): void;
  cancel(): void;
}
