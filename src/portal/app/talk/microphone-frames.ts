import { encodeMulaw } from '../../../voice/audio/mulaw.js';
import { createResampler } from '../../../voice/audio/resample.js';
import { CALL_RATE } from './loudspeaker';

const FRAME_SAMPLES = 160;

/** Cuts the microphone's audio into frames of 20 ms, mu-law at 8 kHz. Leftover samples are carried into the next frame. */
export function createMicrophoneFrames(inputRate: number): (samples: Float32Array) => Uint8Array[] {
  const resample = createResampler(inputRate, CALL_RATE);
  let kept: number[] = [];
  return (samples) => {
    kept.push(...resample(samples));
    const frames: Uint8Array[] = [];
    while (kept.length >= FRAME_SAMPLES) {
      const frame = Int16Array.from(kept.slice(0, FRAME_SAMPLES), (sample) =>
        Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))),
      );
      frames.push(encodeMulaw(frame));
      kept = kept.slice(FRAME_SAMPLES);
    }
    return frames;
  };
}
