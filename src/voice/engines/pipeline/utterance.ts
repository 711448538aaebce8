import { createPlayedText } from './played-text.js';
import { createSentenceFeed, createSpeechAheadMeter } from './sentence-feed.js';
import type { ProviderChain } from '../chain/provider-chain.js';
import {
  UnclearProviderError,
  type ProviderError,
  type TextToSpeech,
  type TtsOptions,
  type TtsStream,
} from './ports.js';

const BYTES_PER_MS = 8;

export interface UtteranceEvents {
  /** Called when audio was synthesized, even if it is held back. */
  onSynthesized?(): void;
  /** Called when audio may be sent to the caller. */
  onAudio(mulaw: Uint8Array, ms: number): void;
  /** Called when no more audio will arrive and none is held back. */
  onComplete(): void;
  /** Called when TTS has failed and is tried again. */
  onRetry(error: ProviderError): void;
  /** Called after `onComplete` if no attempt of TTS is left. */
  onFailed(error: ProviderError): void;
}

export interface UtteranceDeps {
  itemId: string;
  voices: ProviderChain<TextToSpeech>;
  options: TtsOptions;
  /** Holds audio back until `release`. */
  held: boolean;
  /** Length of the speech that is being synthesized or was not played yet, including this item, in ms. */
  aheadMs(): number;
  /** Whether more speech of the call was discarded than heard, because the caller often interrupts. */
  isDiscarding(): boolean;
  events: UtteranceEvents;
}

export type Utterance = ReturnType<typeof openUtterance>;

/** Synthesizes one item, after a fault with the next attempt of the chain, and tracks which of its words were heard. */
export function openUtterance({ itemId, events, ...p }: UtteranceDeps) {
  const text = createPlayedText();
  let held: Uint8Array[] | undefined = p.held ? [] : undefined;
  const attempts = p.voices.begin();
  /** Whether TTS has finished or failed, so that no more audio comes. */
  let silent = false;
  let closed = false;
  const ahead = createSpeechAheadMeter(() => text.pendingMs());
  const feed = createSentenceFeed({
    stream: () => stream,
    aheadMs: () => p.aheadMs(),
    isDiscarding: () => p.isDiscarding(),
    isHeld: () => held !== undefined,
    onSent(sentence) {
      ahead.given();
      text.say(sentence);
    },
  });
  let retrying: NodeJS.Timeout | undefined;
  let settle: () => void = () => undefined;
  const queued = new Promise<void>((resolve) => (settle = resolve));
  let stream: TtsStream | undefined = open();

  function open(): TtsStream {
    const onSpoken = (words: string) => text.spoken(words);
    const onReconnected = (error: ProviderError) => events.onRetry(error);
    return attempts.provider().port.open(p.options, { onAudio, onSpoken, onDone, onReconnected, onLost: lost });
  }

  function onAudio(mulaw: Uint8Array): void {
    if (closed || mulaw.length === 0) return;
    ahead.came(mulaw.length / BYTES_PER_MS);
    text.audio(mulaw.length / BYTES_PER_MS);
    if (held === undefined) events.onAudio(mulaw, mulaw.length / BYTES_PER_MS);
    else held.push(mulaw);
    events.onSynthesized?.();
  }

  function onDone(): void {
    // If TTS ended early, retry, or the rest of the text would be lost unnoticed.
    if (!feed.isWhole()) return lost(new UnclearProviderError('voice', 'ended the audio before all text was spoken'));
    if (!ahead.hasAudio() && text.text() !== '') return lost(new UnclearProviderError('voice', 'returned no audio'));
    attempts.succeeded();
    text.done();
    endSpeech();
  }

  function endSpeech(): void {
    silent = true;
    stream = undefined;
    if (held !== undefined || closed) return;
    events.onComplete();
    settle();
  }

  function lost(error: ProviderError): void {
    stream = undefined;
    if (closed) return;
    const waitMs = attempts.failed(error);
    if (waitMs === undefined) {
      endSpeech();
      return events.onFailed(error);
    }
    events.onRetry(error);
    feed.requeue(text.truncate());
    retrying = setTimeout(retry, waitMs);
    return undefined;
  }

  function retry(): void {
    retrying = undefined;
    if (feed.isOver()) {
      text.done();
      return endSpeech();
    }
    stream = open();
    feed.sendReady();
  }

  return {
    itemId,
    /** Resolves when all audio was passed on or no more will come. */
    queued,
    say(sentence: string): void {
      if (!closed && !silent) feed.say(sentence);
    },
    finish: () => feed.finish(),
    aheadMs: () => (closed ? 0 : ahead.ms()),
    played: (ms: number) => ahead.played(ms),
    sendReady: () => feed.sendReady(),
    release(): void {
      if (held === undefined || closed) return;
      const audio = held;
      held = undefined;
      for (const mulaw of audio) events.onAudio(mulaw, mulaw.length / BYTES_PER_MS);
      if (silent) endSpeech();
      else feed.sendReady();
    },
    heard: (playedMs: number) => text.at(playedMs).heard,
    /** Characters sent to TTS so far. */
    bought: () => text.text().length,
    /**
     * Stops the utterance.
     * @returns the words that were heard
     */
    close(playedMs: number, complete: boolean): string {
      closed = true;
      silent = true;
      clearTimeout(retrying);
      feed.stop();
      stream?.cancel();
      stream = undefined;
      settle();
      return complete ? text.text() : text.at(playedMs).heard;
    },
  };
}
