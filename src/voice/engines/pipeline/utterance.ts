import type { EngineSink } from '../port.js';
import { createHeardText } from './heard-text.js';
import { ProviderError, type SpeechStream, type TextToSpeech } from './ports.js';

const BYTES_PER_MS = 8;
const RETRY_AFTER_MS = 200;
/** An item counts as over this much after its length when no mark tells. */
const MARK_GRACE_MS = 3_000;

export interface Ended {
  /** The words that were heard. */
  heard: string;
  unheard: string;
  /** Ms from the start of the stream. */
  startMs: number;
  endMs: number;
  complete: boolean;
}

export interface UtteranceEvents {
  /** Told with each piece of audio. */
  onAudio?(): void;
  /** Not to be spoken, not even at the second attempt. */
  onFailed(error: ProviderError): void;
  /** It was heard to its end, or cut off. Told once. */
  onEnded(ended: Ended): void;
}

export type Utterance = ReturnType<typeof openUtterance>;

/** One item on the line: from text to audio, with one retry, and to the account of what was heard of it. */
export function openUtterance(p: {
  itemId: string;
  voice: TextToSpeech;
  voiceName: string;
  language: string;
  sink: EngineSink;
  now: () => number;
  /** Audio is kept back until `release`. */
  held: boolean;
  events: UtteranceEvents;
}) {
  const { itemId, sink, now, events } = p;
  const text = createHeardText();
  let held: Uint8Array[] | undefined = p.held ? [] : undefined;
  let attempts = 0;
  let finished = false;
  /** Nothing more will be heard of the voice. */
  let silent = false;
  let over = false;
  let retrying: NodeJS.Timeout | undefined;
  let toSay: string[] = [];
  let queuedMs = 0;
  let queuedAtMs: number | undefined;
  let startMs: number | undefined;
  let playedMs = 0;
  let settle: () => void = () => undefined;
  const queued = new Promise<void>((resolve) => (settle = resolve));
  let stream: SpeechStream | undefined = open();

  function open(): SpeechStream {
    return p.voice.open(p.voiceName, p.language, {
      onAudio(mulaw) {
        if (over || mulaw.length === 0) return;
        text.audio(mulaw.length / BYTES_PER_MS);
        if (held === undefined) queue(mulaw);
        else held.push(mulaw);
        events.onAudio?.();
      },
      onSpoken: (words) => text.spoken(words),
      onDone() {
        // Otherwise the rest would be dropped without a word to anybody.
        if (!finished) return lost(new ProviderError('voice', 'ended before all was said'));
        if (!hasAudio() && text.text() !== '') return lost(new ProviderError('voice', 'spoke nothing'));
        text.done();
        endSpeech();
      },
      onLost: lost,
    });
  }

  function hasAudio(): boolean {
    return queuedMs > 0 || (held !== undefined && held.length > 0);
  }

  function queue(mulaw: Uint8Array): void {
    queuedAtMs ??= now();
    queuedMs += mulaw.length / BYTES_PER_MS;
    sink.audio(itemId, mulaw);
  }

  function endSpeech(): void {
    silent = true;
    stream = undefined;
    if (held !== undefined || over) return;
    if (queuedMs > 0) sink.endOfItem(itemId);
    else end(false);
    settle();
  }

  function lost(error: ProviderError): void {
    stream = undefined;
    if (over) return;
    attempts += 1;
    if (attempts > 1) {
      endSpeech();
      return events.onFailed(error);
    }
    const rest = text.breakOff();
    toSay = rest === '' ? [] : [rest];
    retrying = setTimeout(retry, error.retryAfterMs ?? RETRY_AFTER_MS);
    return undefined;
  }

  function retry(): void {
    retrying = undefined;
    if (finished && toSay.length === 0) {
      text.done();
      return endSpeech();
    }
    stream = open();
    for (const sentence of toSay.splice(0)) sayNow(sentence);
    if (finished) stream.finish();
  }

  function sayNow(sentence: string): void {
    text.say(sentence);
    stream?.say(sentence);
  }

  function end(complete: boolean): void {
    if (over) return;
    over = true;
    silent = true;
    clearTimeout(retrying);
    stream?.cancel();
    stream = undefined;
    settle();
    const { heard, unheard } = complete ? { heard: text.text(), unheard: '' } : text.at(playedMs);
    const start = Math.max(0, Math.round(startMs ?? queuedAtMs ?? now()));
    events.onEnded({ heard, unheard, startMs: start, endMs: start + Math.max(1, Math.round(playedMs)), complete });
  }

  return {
    itemId,
    /** All audio is on its way to the far end, or none will come. */
    queued,
    text: () => text.text(),
    say(sentence: string): void {
      if (over || silent) return;
      if (retrying === undefined) sayNow(sentence);
      else toSay.push(sentence);
    },
    finish(): void {
      finished = true;
      stream?.finish();
    },
    release(): void {
      if (held === undefined || over) return;
      const audio = held;
      held = undefined;
      for (const mulaw of audio) queue(mulaw);
      if (silent) endSpeech();
    },
    onPlayed(ms: number, complete: boolean): void {
      if (over) return;
      if (ms > 0) startMs ??= now() - ms;
      playedMs = Math.max(playedMs, ms);
      if (complete) end(true);
    },
    /** Something of it is being heard, or will be at once. */
    isAudible: () => !over && queuedMs > 0,
    hasAudio,
    isOver: () => over,
    playedMs: () => playedMs,
    /** Nothing more of it, now; the line was cleared before if it was audible. */
    cut: () => end(false),
    /**
     * Without marks a call must not stand still.
     * @param freeSinceMs when what was on the line before it was over
     */
    isOverdue: (freeSinceMs: number) =>
      !over &&
      silent &&
      queuedAtMs !== undefined &&
      now() > Math.max(startMs ?? queuedAtMs, freeSinceMs) + queuedMs + MARK_GRACE_MS,
  };
}
