import { isFarAhead } from '../../session/speech-limits.js';
import type { SpeechStream } from './ports.js';

const LOOK_AGAIN_MS = 1_000;
/** Less audio than this is soon heard: if none has come for a while, what was estimated to come is not waited for. */
const LOW_MS = 2_000;
const NOT_COMING_MS = 1_500;
/** Audio that no mark tells of counts as heard so long after its length. */
const MARK_GRACE_MS = 3_000;

/**
 * The sentences of an item on their way to the voice. They wait while enough speech before them was not heard yet: most
 * of it is never paid for when the caller interrupts.
 */
export function createSentenceFeed(p: {
  stream(): SpeechStream | undefined;
  /** How much speech is on the line or being made, ms. */
  aheadMs(): number;
  onGiven(sentence: string): void;
}) {
  const waiting: string[] = [];
  let finished = false;
  /** The voice was told that it has all. */
  let isWhole = false;
  let looking: NodeJS.Timeout | undefined;

  /** Gives the voice what it may speak by now. */
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
    /** The stream was lost: the next one is given the rest of what it had. */
    takeBack(rest: string): void {
      isWhole = false;
      if (rest !== '') waiting.unshift(rest);
    },
    isWhole: () => isWhole,
    /** Nothing is left to say. */
    isOver: () => finished && waiting.length === 0,
    stop: () => clearTimeout(looking),
  };
}

/**
 * Measures how much speech of an item was paid for and not heard yet.
 * @param comingMs how long the audio of what the voice was given lasts beyond what has come, estimated
 */
export function measureSpeechAhead(comingMs: () => number) {
  let voicedMs = 0;
  let playedMs = 0;
  let workedAt = performance.now();
  return {
    hasAudio: () => voicedMs > 0,
    /** Text was handed to the voice. */
    given(): void {
      workedAt = performance.now();
    },
    /** Audio has come; it may be kept back. */
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
