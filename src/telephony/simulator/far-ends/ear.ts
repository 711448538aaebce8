import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { decodeMulaw } from '../../../voice/audio/mulaw.js';
import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import { framesIn } from './mouth.js';

/** Quieter than this on average over 20 ms is no speech; synthetic speech is above 1,000, a quiet line near 0. */
const SPEECH_RMS = 200;
/** A clear may leave words of a sentence that was broken off on the line; the next item begins after such a gap. */
const GAP_BETWEEN_ITEMS = framesIn(0.3);

const NOTHING = new Int16Array(FRAME_BYTES);

/** Counts, in frames of 20 ms, what the agent said since the last `restart`. */
export interface FarEar {
  hear(frame: Uint8Array | undefined): void;
  /** What was about to be heard was dropped: what still comes of it is no turn of the agent. */
  cleared(): void;
  restart(): void;
  readonly speech: number;
  /** Since the last speech. */
  readonly pause: number;
  readonly all: number;
  close(): void;
}

/** Listens by voice detection and loudness: a tone is no speech, and neither is the detector's echo of a click. */
export function createFarEar(newDetector: () => VoiceActivityDetector): FarEar {
  let detector: VoiceActivityDetector | undefined;
  let [speech, pause, all] = [0, 0, 0];
  let gap = 0;
  let residual = false;
  let closed = false;

  function isSpeech(frame: Uint8Array | undefined): boolean {
    const pcm = frame === undefined ? NOTHING : decodeMulaw(frame);
    detector ??= newDetector();
    // The detector learns from every frame, from silence too.
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
