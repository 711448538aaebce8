import { FRAME_MS } from './frame.js';

const SAMPLE_RATE = 8_000;

/** Detects one steady tone, such as the beep an answering machine plays before it records. */
export interface BeepDetector {
  /** @param pcm the next 20 ms at 8 kHz; @returns true once per beep, on the first frame after it ends */
  push(pcm: Int16Array): boolean;
}

const BEEP_HERTZ = { from: 350, to: 2_200 };
/** Minimum length of a beep. No spoken vowel keeps one even pitch for this long. */
const BEEP_MIN_MS = 180;
const STEADY_SHARE = 0.03;
/** Share of the energy that a fitted sine leaves unexplained; voices leave 0.05 and more. */
const MAX_RESIDUE = 0.01;
const MIN_RMS = 250;

export function createBeepDetector(): BeepDetector {
  let hertz = 0;
  let lengthMs = 0;

  return {
    push(pcm) {
      const now = sineIn(pcm);
      if (now !== undefined && lengthMs > 0 && Math.abs(now - hertz) <= hertz * STEADY_SHARE) {
        lengthMs += FRAME_MS;
        return false;
      }
      const ended = lengthMs >= BEEP_MIN_MS;
      hertz = now ?? 0;
      lengthMs = now === undefined ? 0 : FRAME_MS;
      return ended;
    },
  };
}

/**
 * The frequency in Hz if the samples form a single sine within the beep range, else undefined. A sine satisfies x[n+1]
 * + x[n-1] = 2 cos(w) x[n]; the code fits the factor 2 cos(w), and the residue is the fitting error.
 */
function sineIn(pcm: Int16Array): number | undefined {
  let energy = 0;
  let product = 0;
  let sums = 0;
  for (let n = 1; n + 1 < pcm.length; n++) {
    const middle = pcm[n] ?? 0;
    const sum = (pcm[n - 1] ?? 0) + (pcm[n + 1] ?? 0);
    energy += middle * middle;
    product += middle * sum;
    sums += sum * sum;
  }
  if (energy < MIN_RMS ** 2 * pcm.length) return undefined;
  const factor = product / energy;
  if (Math.abs(factor) >= 2) return undefined;
  // Divide by the energy of the samples x[n], not by that of the sums x[n+1] + x[n-1], which are almost zero for a sine
  // near a quarter of the sample rate.
  const residue = (sums - factor * product) / energy;
  if (residue > MAX_RESIDUE) return undefined;
  const hertz = (Math.acos(factor / 2) * SAMPLE_RATE) / (2 * Math.PI);
  return hertz >= BEEP_HERTZ.from && hertz <= BEEP_HERTZ.to ? hertz : undefined;
}
