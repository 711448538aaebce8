import { createHeardText } from './heard-text.js';
import { createSentenceFeed, measureSpeechAhead } from './sentence-feed.js';
import { ProviderError, type SpeechStream, type TextToSpeech } from './ports.js';

const BYTES_PER_MS = 8;
const RETRY_AFTER_MS = 200;

export interface UtteranceEvents {
  /** Audio was synthesized; it may still be held back. */
  onMade?(): void;
  /** Audio is ready for the line. */
  onAudio(mulaw: Uint8Array, ms: number): void;
  /** No more audio will arrive, and none is held back. */
  onWhole(): void;
  /** Speech failed twice. Called after `onWhole`. */
  onFailed(error: ProviderError): void;
}

export interface UtteranceDeps {
  itemId: string;
  voice: TextToSpeech;
  voiceName: string;
  language: string;
  /** Holds audio back until `release`. */
  held: boolean;
  /** Length of the speech that is being synthesized or unplayed, including this item, in ms. */
  aheadMs(): number;
  events: UtteranceEvents;
}

export type Utterance = ReturnType<typeof openUtterance>;

/** Turns one item into audio, with one retry, and tracks which of its words were heard. */
export function openUtterance({ itemId, events, ...p }: UtteranceDeps) {
  const text = createHeardText();
  let held: Uint8Array[] | undefined = p.held ? [] : undefined;
  let attempts = 0;
  /** TTS sends no more audio. */
  let silent = false;
  let closed = false;
  const ahead = measureSpeechAhead(() => text.comingMs());
  const feed = createSentenceFeed({
    stream: () => stream,
    aheadMs: () => p.aheadMs(),
    onGiven(sentence) {
      ahead.given();
      text.say(sentence);
    },
  });
  let retrying: NodeJS.Timeout | undefined;
  let settle: () => void = () => undefined;
  const queued = new Promise<void>((resolve) => (settle = resolve));
  let stream: SpeechStream | undefined = open();

  function open(): SpeechStream {
    const onSpoken = (words: string) => text.spoken(words);
    return p.voice.open(p.voiceName, p.language, { onAudio, onSpoken, onDone, onLost: lost });
  }

  function onAudio(mulaw: Uint8Array): void {
    if (closed || mulaw.length === 0) return;
    ahead.came(mulaw.length / BYTES_PER_MS);
    text.audio(mulaw.length / BYTES_PER_MS);
    if (held === undefined) events.onAudio(mulaw, mulaw.length / BYTES_PER_MS);
    else held.push(mulaw);
    events.onMade?.();
  }

  function onDone(): void {
    // TTS ended early: without a retry the rest would be lost unnoticed.
    if (!feed.isWhole()) return lost(new ProviderError('voice', 'ended before all was said'));
    if (!ahead.hasAudio() && text.text() !== '') return lost(new ProviderError('voice', 'spoke nothing'));
    text.done();
    endSpeech();
  }

  function endSpeech(): void {
    silent = true;
    stream = undefined;
    if (held !== undefined || closed) return;
    events.onWhole();
    settle();
  }

  function lost(error: ProviderError): void {
    stream = undefined;
    if (closed) return;
    attempts += 1;
    if (attempts > 1) {
      endSpeech();
      return events.onFailed(error);
    }
    feed.takeBack(text.breakOff());
    retrying = setTimeout(retry, error.retryAfterMs ?? RETRY_AFTER_MS);
    return undefined;
  }

  function retry(): void {
    retrying = undefined;
    if (feed.isOver()) {
      text.done();
      return endSpeech();
    }
    stream = open();
    feed.handOver();
  }

  return {
    itemId,
    /** Resolves when all audio was passed on, or none will come. */
    queued,
    say(sentence: string): void {
      if (!closed && !silent) feed.say(sentence);
    },
    finish: () => feed.finish(),
    aheadMs: () => (closed ? 0 : ahead.ms()),
    played: (ms: number) => ahead.played(ms),
    handOver: () => feed.handOver(),
    release(): void {
      if (held === undefined || closed) return;
      const audio = held;
      held = undefined;
      for (const mulaw of audio) events.onAudio(mulaw, mulaw.length / BYTES_PER_MS);
      if (silent) endSpeech();
    },
    /**
     * Stops the utterance.
     * @returns the words that were heard
     */
    close(heardMs: number, complete: boolean): string {
      closed = true;
      silent = true;
      clearTimeout(retrying);
      feed.stop();
      stream?.cancel();
      stream = undefined;
      settle();
      return complete ? text.text() : text.at(heardMs).heard;
    },
  };
}
