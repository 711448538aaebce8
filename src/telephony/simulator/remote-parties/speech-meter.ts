import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { decodeMulaw } from '../../../voice/audio/mulaw.js';
import type { VoiceActivityDetector } from '../../../voice/audio/voice-activity.js';
import { framesIn } from './speech-player.js';

/** RMS level above which a 20 ms frame may be speech. Synthetic speech is above 1,000, silence near 0. */
const SPEECH_RMS = 200;
/** After audio was discarded, words of the interrupted sentence may still arrive. A gap this long ends them. */
const GAP_BETWEEN_ITEMS = framesIn(0.3);

const NOTHING = new Int16Array(FRAME_BYTES);

/** Measures, in 20 ms frames, what the agent has said since the last `restart`. */
export interface SpeechMeter {
  addFrame(frame: Uint8Array | undefined): void;
  /** Called when queued audio was discarded. The rest of that audio may still arrive and does not count. */
  playbackCleared(): void;
  restart(): void;
  readonly speechFrames: number;
  /** Number of frames since the last speech. */
  readonly pauseFrames: number;
  readonly totalFrames: number;
  close(): void;
}

/**
 * Detects speech by voice activity and loudness, because the voice activity detector alone also reacts to tones and
 * clicks.
 */
export function createSpeechMeter(newDetector: () => VoiceActivityDetector): SpeechMeter {
  let detector: VoiceActivityDetector | undefined;
  let [speech, pause, all] = [0, 0, 0];
  let gap = 0;
  let residual = false;
  let closed = false;

  function isSpeech(frame: Uint8Array | undefined): boolean {
    const pcm = frame === undefined ? NOTHING : decodeMulaw(frame);
    detector ??= newDetector();
    // The voice activity detector adapts to every frame, so give it silent frames, too.
    return detector.isVoice(pcm) && loudness(pcm) > SPEECH_RMS;
  }

  return {
    addFrame(frame) {
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
    playbackCleared() {
      residual = true;
      gap = 0;
    },
    restart() {
      [speech, pause, all] = [0, 0, 0];
    },
    get speechFrames() {
      return speech;
    },
    get pauseFrames() {
      return pause;
    },
    get totalFrames() {
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
