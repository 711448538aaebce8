import { firstPart, isFarAhead } from '../../session/speech-limits.js';
import type { TtsStream } from './ports.js';

const LOOK_AGAIN_MS = 1_000;
/**
 * If less audio than this is left to play, and TTS has been idle for `NOT_COMING_MS`, audio that TTS still owes no
 * longer counts as speech ahead of playback.
 */
const LOW_MS = 2_000;
const NOT_COMING_MS = 1_500;
/** If the carrier sends no marks, audio counts as heard this long after it must have ended. */
const MARK_GRACE_MS = 3_000;

/**
 * Passes the sentences of an item to TTS. Sentences wait while enough earlier speech is unplayed, because TTS is billed
 * by text, and most of it would be wasted if the caller interrupts.
 */
export function createSentenceFeed(p: {
  stream(): TtsStream | undefined;
  /** Length of the speech that is being synthesized or was not played yet, in ms. */
  aheadMs(): number;
  /** Whether more speech of the call was discarded than heard, because the caller often interrupts. */
  isDiscarding(): boolean;
  /** Whether the audio is held back because the caller may not have finished. */
  isHeld(): boolean;
  onSent(sentence: string): void;
}) {
  const waiting: string[] = [];
  let finished = false;
  /** Whether all sentences were sent to TTS. */
  let isWhole = false;
  let looking: NodeJS.Timeout | undefined;

  /** Sends TTS as many sentences as allowed now. */
  function sendReady(): void {
    clearTimeout(looking);
    while (p.stream() !== undefined && !isWhole && !isFarAhead(p.aheadMs(), p.isHeld() || p.isDiscarding())) {
      const sentence = waiting.shift();
      if (sentence === undefined) break;
      const [part, rest] = p.isDiscarding() ? firstPart(sentence) : [sentence, ''];
      if (rest !== '') waiting.unshift(rest);
      p.onSent(part);
      p.stream()?.say(part);
    }
    if (p.stream() === undefined || isWhole) return;
    if (waiting.length > 0) looking = setTimeout(sendReady, LOOK_AGAIN_MS);
    else if (finished) {
      isWhole = true;
      p.stream()?.finish();
    }
  }

  return {
    sendReady,
    say(sentence: string): void {
      waiting.push(sentence);
      sendReady();
    },
    finish(): void {
      finished = true;
      sendReady();
    },
    /** Queues the text that a lost stream did not speak, so that the next stream speaks it. */
    requeue(rest: string): void {
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
 * @param pendingMs estimated length of requested audio that has not arrived, in ms
 */
export function createSpeechAheadMeter(pendingMs: () => number) {
  let voicedMs = 0;
  let playedMs = 0;
  let workedAt = performance.now();
  return {
    hasAudio: () => voicedMs > 0,
    /** Call this when text was sent to TTS. */
    given(): void {
      workedAt = performance.now();
    },
    /** Call this when audio has arrived from TTS, even if it is held back. */
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
      return unheardMs + (unheardMs < LOW_MS && idleMs > NOT_COMING_MS ? 0 : pendingMs());
    },
  };
}
