import { decodeMulaw } from '../../../voice/audio/mulaw.js';
import { createResampler } from '../../../voice/audio/resample.js';

/** Sample rate of a call's audio, in Hz. */
export const CALL_RATE = 8_000;

/** After a gap, playback waits for this much audio, so that late frames cause no further gaps. */
const CUSHION_MS = 60;

type Item = { samples: Float32Array } | { mark: string };

/**
 * Creates the queue of the agent's audio. `pull` takes samples at the rate of the output device, and returns the names of
 * the marks up to which everything has been played.
 */
export function createLoudspeaker(outputRate: number) {
  const cushion = (outputRate * CUSHION_MS) / 1_000;
  let resample = createResampler(CALL_RATE, outputRate);
  let items: Item[] = [];
  let taken = 0;
  let isWaiting = true;

  const marks = () => items.flatMap((item) => ('mark' in item ? [item.mark] : []));
  const queued = () => items.reduce((sum, item) => sum + ('samples' in item ? item.samples.length : 0), -taken);

  /** Copies from the first item. Returns the number of samples copied. */
  function takeFrom(samples: Float32Array, out: Float32Array, at: number): number {
    const count = Math.min(out.length - at, samples.length - taken);
    out.set(samples.subarray(taken, taken + count), at);
    taken += count;
    if (taken === samples.length) {
      items.shift();
      taken = 0;
    }
    return count;
  }

  return {
    /** @param audio mu-law, 8 kHz */
    push(audio: Uint8Array): void {
      items.push({ samples: resample(Float32Array.from(decodeMulaw(audio), (sample) => sample / 32_768)) });
    },

    mark(name: string): void {
      items.push({ mark: name });
    },

    /** Drops all audio. Returns the names of the dropped marks, which the server then need not wait for. */
    clear(): string[] {
      const dropped = marks();
      items = [];
      taken = 0;
      isWaiting = true;
      resample = createResampler(CALL_RATE, outputRate);
      return dropped;
    },

    pull(out: Float32Array): string[] {
      const reached: string[] = [];
      let filled = 0;
      out.fill(0);
      // A mark ends an utterance, so no more audio follows soon.
      if (isWaiting && queued() < cushion && marks().length === 0) return reached;
      isWaiting = false;
      for (let [item] = items; item !== undefined; [item] = items) {
        if ('mark' in item) {
          reached.push(item.mark);
          items.shift();
        } else if (filled === out.length) break;
        else filled += takeFrom(item.samples, out, filled);
      }
      if (filled < out.length) isWaiting = true;
      return reached;
    },
  };
}
