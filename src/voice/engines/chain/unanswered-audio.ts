/** Audio kept for an engine that takes over: 10 s of 20 ms frames. */
const KEPT_FRAMES = 500;
/**
 * Voice that follows the end of a turn this closely belongs to the turn. Providers report an end by the loudness, which is
 * before voice activity detection hears the last sound fade.
 */
const TAIL_MS = 500;

export interface CallerFrame {
  /** 20 ms of 8 kHz mu-law. */
  frame: Uint8Array;
  timestampMs: number;
}

/** Keeps what the caller has said since the last turn with a transcript. */
export function createUnansweredAudio() {
  let kept: CallerFrame[] = [];
  return {
    push(frame: Uint8Array, timestampMs: number): void {
      kept.push({ frame, timestampMs });
      if (kept.length > KEPT_FRAMES) kept.shift();
    },
    /** Drops the audio of a turn whose words are known. */
    dropUntil(endMs: number): void {
      kept = kept.filter(({ timestampMs }) => timestampMs >= endMs + TAIL_MS);
    },
    frames: (): readonly CallerFrame[] => kept,
  };
}
