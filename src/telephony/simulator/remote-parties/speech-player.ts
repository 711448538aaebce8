import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { MULAW_SILENCE } from '../../../voice/audio/mulaw.js';
import type { Voices } from '../voices.js';

const FRAMES_PER_SECOND = 50;

/** Number of 20 ms frames in a number of seconds, rounded. */
export const framesIn = (seconds: number) => Math.round(seconds * FRAMES_PER_SECOND);

/** Speaks text and plays audio in frames of 20 ms. */
export interface SpeechPlayer {
  say(text: string): void;
  play(mulaw: Uint8Array): void;
  /** Whether audio is being synthesized, or is not fully played yet. */
  isBusy(): boolean;
  nextFrame(): Uint8Array | undefined;
}

export function createSpeechPlayer(voices: Voices): SpeechPlayer {
  let audio: Uint8Array = new Uint8Array(0);
  let at = 0;
  let preparing = false;

  return {
    say(text) {
      preparing = true;
      void voices.synthesize(text).then((mulaw) => {
        preparing = false;
        audio = mulaw ?? new Uint8Array(0);
        at = 0;
      });
    },
    play(mulaw) {
      audio = mulaw;
      at = 0;
    },
    isBusy: () => preparing || at < audio.length,
    nextFrame() {
      if (at >= audio.length) return undefined;
      const frame = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
      frame.set(audio.subarray(at, at + FRAME_BYTES));
      at += FRAME_BYTES;
      return frame;
    },
  };
}
