import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { decodeMulaw } from '../../../voice/audio/mulaw.js';
import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import { framesIn } from './mouth.js';

/** RMS level above which a 20 ms frame may be speech. Synthetic speech is above 1,000, a quiet line near 0. */
const SPEECH_RMS = 200;
/** After a clear, words of the interrupted sentence may still arrive; a gap this long marks the start of new speech. */
const GAP_BETWEEN_ITEMS = framesIn(0.3);

const NOTHING = new Int16Array(FRAME_BYTES);

/** Measures, in 20 ms frames, what the agent has said since the last `restart`. */
export interface FarEar {
  hear(frame: Uint8Array | undefined): void;
  /** Queued audio was discarded: ignore what is still arriving of it. */
  cleared(): void;
  restart(): void;
  readonly speech: number;
  /** Frames since the last speech. */
  readonly pause: number;
  readonly all: number;
  close(): void;
}

/** Detects speech by voice activity and loudness, because the detector alone also reacts to tones and clicks. */
export function createFarEar(newDetector: () => VoiceActivityDetector): FarEar {
  let detector: VoiceActivityDetector | undefined;
  let [speech, pause, all] = [0, 0, 0];
  let gap = 0;
  let residual = false;
  let closed = false;

  function isSpeech(frame: Uint8Array | undefined): boolean {
    const pcm = frame === undefined ? NOTHING : decodeMulaw(frame);
    detector ??= newDetector();
    // The detector adapts to every frame, so pass it silence too.
    return detector.isVoice(pcm) && loudness(pcm) > SPEECH_RMS;
  }

  return {
    hear(frame) {
      if (closed) return;
      const spoken = isSpeech(frame);
      gap = spoken ? 0 : gap + 1;
      if (gap >= GAP_BETWEEN_ITEMS) residual = false;
      all++;
      if (spoken && !residual) {
        speech++;
        pause = 0;
      } else {
        pause++;
      }
    },
    cleared() {
      residual = true;
      gap = 0;
    },
    restart() {
      [speech, pause, all] = [0, 0, 0];
    },
    get speech() {
      return speech;
    },
    get pause() {
      return pause;
    },
    get all() {
      return all;
    },
    close() {
      closed = true;
      detector?.free();
      detector = undefined;
    },
  };
}

function loudness(pcm: Int16Array): number {
  let sum = 0;
  for (const sample of pcm) sum += sample * sample;
  return Math.sqrt(sum / pcm.length);
}
