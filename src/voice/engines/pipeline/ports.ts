import type { ConversationSettings } from '../../../kernel/conversation/conversation-settings.js';
import type { FailureReport } from '../../models/failure-report.js';
import type { OnIgnored } from '../ignored-settings.js';
import type { ProviderPart } from '../port.js';

/** The kind of provider at fault, among those of this engine. */
export type PipelinePart = Exclude<ProviderPart, 'realtime'>;

const PROVIDERS: Record<PipelinePart, string> = {
  recogniser: 'the speech-to-text provider',
  model: 'the language model provider',
  voice: 'the text-to-speech provider',
};

/**
 * A provider rejected a request, disconnected, stalled or sent invalid data. The message contains no secrets or speech.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';

  constructor(
    readonly part: PipelinePart,
    /** The rest of the sentence that begins with the provider, such as `sent invalid data`. */
    fault: string,
    /** How long the provider asks to wait before a retry, in ms. */
    readonly retryAfterMs?: number,
    /** Whether the provider did not begin the work, so that it bills nothing. */
    readonly isUnbilled = false,
    /** The provider's own words about it, and its codes. */
    readonly report: FailureReport = {},
  ) {
    super(`${PROVIDERS[part]} ${fault}`);
  }
}

/**
 * A provider that responds did not do what this reply needs, such as words in time. The agent's prompt or settings may
 * cause this, so it says nothing about other calls.
 */
export class HealthyProviderError extends ProviderError {
  readonly blame = 'request';
}

/**
 * A provider that responds sent something that the text may have caused, such as no audio for signs without a sound. It says
 * something about other calls only if it happens in one call after the other.
 */
export class UnclearProviderError extends ProviderError {
  readonly blame = 'unclear';
}

/**
 * A provider sends nothing, or nothing more, for a request. It may hang, but what it got may cause it, too, such as a long prompt,
 * signs without a sound or noise. Like every failure it counts for calls of other accounts only if it happens in one call after
 * the other.
 */
export class SilentProviderError extends ProviderError {
  readonly blame = 'provider';
}

export interface SttOptions {
  language: string;
  settings: ConversationSettings;
  onIgnored?: OnIgnored;
}

/** The texts that are sent to STT, which it may quote in an error. */
export function sentText({ settings: { keyterms = [] } }: Pick<SttOptions, 'settings'>): string {
  return keyterms.join(' ');
}

/** Speech to text. */
export interface SpeechToText {
  /** Whether the provider detects the end of a turn from its meaning; otherwise VAD must confirm the end by a pause. */
  readonly detectsEndOfTurn: boolean;
  /**
   * How long a turn may go without new words although the caller speaks, in ms; absent if the provider transcribes as
   * the caller speaks.
   */
  readonly wordsWithinMs?: number;
  /** Whether the provider bills the audio that `onBilled` reports; otherwise it bills all audio of the stream. */
  readonly billsRequests?: boolean;
  open(options: SttOptions, events: SttEvents): SttStream;
}

export interface SttEvents {
  /** Reports an interim transcript of the turn so far, never empty. Later ones may differ. */
  onInterim(text: string): void;
  /** Reports that the turn may have ended with this transcript. */
  onProbableEnd(text: string): void;
  /** Reports that the turn has not ended after all, because the caller continues. */
  onTurnContinued(): void;
  onEnd(text: string): void;
  /** Called on every message, which shows that the provider is alive. */
  onActivity(): void;
  /** Reports audio that the provider bills, if it bills requests. Also called after `close`. */
  onBilled?(seconds: number): void;
  /** The stream has failed. Called at most once, and never after `close`. */
  onLost(error: ProviderError): void;
}

export interface SttStream {
  /** @param frame 20 ms of 8 kHz mu-law */
  push(frame: Uint8Array): void;
  /** Asks the provider to return the transcript of all audio sent so far without delay. */
  finalize(): void;
  /** Discards the transcript so far, because the session has ended the turn. */
  discardTurn(): void;
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
  /** Input tokens that were not cached. */
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

export type ChatDelta =
  | { kind: 'text'; text: string }
  /** A part of the arguments of a tool call, which follows when it is complete. */
  | { kind: 'arguments'; text: string }
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
    settings?: ConversationSettings;
    onIgnored?: OnIgnored;
    signal: AbortSignal;
  }): AsyncIterable<ChatDelta>;
}

export interface TtsOptions {
  voice: string;
  language: string;
  settings: ConversationSettings;
  onIgnored?: OnIgnored;
}

/** Text to speech. */
export interface TextToSpeech {
  /** Opens a stream for one utterance, and prepares what it can before the first sentence. */
  open(options: TtsOptions, events: TtsEvents): TtsStream;
  /** TTS for the utterances of one call, if they can share a connection. */
  forCall?(): CallTts;
}

export interface CallTts extends TextToSpeech {
  /** Closes the connection when the call has ended. */
  close(): void;
}

export interface TtsEvents {
  /** @param mulaw 8 kHz mu-law of any length */
  onAudio(mulaw: Uint8Array): void;
  /** Reports the text of all audio since the last report. Providers without this information never call it. */
  onSpoken(text: string): void;
  /** Reports that the audio of all text has arrived. */
  onDone(): void;
  /**
   * Reports that the connection broke and was replaced.
   * @param again the text that was sent once more
   */
  onReconnected?(error: ProviderError, again: string): void;
  /** The stream has failed. Called at most once, and never after `cancel`. */
  onLost(error: ProviderError): void;
}

export interface TtsStream {
  /** @param text one sentence or more, without markup */
  say(text: string): void;
  /** Declares that no more text follows. */
  finish(): void;
  cancel(): void;
}
