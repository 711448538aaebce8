import { isFarAhead } from '../../session/speech-limits.js';
import type { SpeechStream } from './ports.js';

const LOOK_AGAIN_MS = 1_000;
/** With less unplayed audio than this, stop waiting for audio that was only estimated, after `NOT_COMING_MS`. */
const LOW_MS = 2_000;
const NOT_COMING_MS = 1_500;
/** Without marks, audio counts as heard this long after its length. */
const MARK_GRACE_MS = 3_000;

/**
 * Passes the sentences of an item to TTS. Sentences wait while enough earlier speech is unplayed, because TTS is billed
 * by text, and most of it would be wasted if the caller interrupts.
 */
export function createSentenceFeed(p: {
  stream(): SpeechStream | undefined;
  /** Length of the speech that is being synthesized or unplayed, in ms. */
  aheadMs(): number;
  onGiven(sentence: string): void;
}) {
  const waiting: string[] = [];
  let finished = false;
  /** TTS has all sentences. */
  let isWhole = false;
  let looking: NodeJS.Timeout | undefined;

  /** Sends TTS as many sentences as allowed now. */
  function handOver(): void {
    clearTimeout(looking);
    while (p.stream() !== undefined && !isWhole && !isFarAhead(p.aheadMs())) {
      const sentence = waiting.shift();
      if (sentence === undefined) break;
      p.onGiven(sentence);
      p.stream()?.say(sentence);
    }
    if (p.stream() === undefined || isWhole) return;
    if (waiting.length > 0) looking = setTimeout(handOver, LOOK_AGAIN_MS);
    else if (finished) {
      isWhole = true;
      p.stream()?.finish();
    }
  }

  return {
    handOver,
    say(sentence: string): void {
      waiting.push(sentence);
      handOver();
    },
    finish(): void {
      finished = true;
      handOver();
    },
    /** The stream was lost: the next one speaks the rest of its text. */
    takeBack(rest: string): void {
      isWhole = false;
      if (rest !== '') waiting.unshift(rest);
    },
    isWhole: () => isWhole,
    /** Whether no text is left to speak. */
    isOver: () => finished && waiting.length === 0,
    stop: () => clearTimeout(looking),
  };
}

/**
 * Measures how much speech of an item was requested from TTS and is not played yet.
 * @param comingMs estimated length of requested audio that has not arrived, in ms
 */
export function measureSpeechAhead(comingMs: () => number) {
  let voicedMs = 0;
  let playedMs = 0;
  let workedAt = performance.now();
  return {
    hasAudio: () => voicedMs > 0,
    /** Text was sent to TTS. */
    given(): void {
      workedAt = performance.now();
    },
    /** Audio has arrived; it may be held back. */
    came(ms: number): void {
      voicedMs += ms;
      workedAt = performance.now();
    },
    played(ms: number): void {
      playedMs = Math.max(playedMs, ms);
    },
    ms(): number {
      const unheardMs = Math.max(0, voicedMs - playedMs);
      const idleMs = voicedMs === 0 ? 0 : performance.now() - workedAt;
      if (idleMs > unheardMs + MARK_GRACE_MS) return 0;
      return unheardMs + (unheardMs < LOW_MS && idleMs > NOT_COMING_MS ? 0 : comingMs());
    },
  };
}
