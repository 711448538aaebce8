import { MULAW_SAMPLES } from '../audio/mulaw.js';

const LOUDEST_SAMPLE = 32_124;
const LOUDEST = 255;
/** How loud each mu-law byte is, from 0 to 255. */
const LOUDNESS = Uint8Array.from(MULAW_SAMPLES, (sample) => Math.round((Math.abs(sample) / LOUDEST_SAMPLE) * LOUDEST));

/**
 * Measures how loud two tracks of mu-law are in equal parts of a recording. It needs one byte per part and track,
 * however long the recording is.
 * @param p.samples samples of each track in the whole recording
 * @param p.parts number of parts, at most the number of samples
 */
export function createPeakMeter({ samples, parts }: { samples: number; parts: number }) {
  const peaks = new Uint8Array(parts * 2);
  let at = 0;

  return {
    /** The first track's and the second track's peak of each part, from 0 to 255. */
    peaks,

    /** Adds samples of both tracks, one byte of each in turn. */
    add(mulaw: Uint8Array): void {
      const end = at + mulaw.length / 2;
      let offset = 0;
      while (at < end) {
        const part = Math.min(parts - 1, Math.floor((at * parts) / samples));
        const partEnd = part === parts - 1 ? end : Math.min(end, Math.ceil(((part + 1) * samples) / parts));
        let first = peaks[part * 2] ?? 0;
        let second = peaks[part * 2 + 1] ?? 0;
        for (; at < partEnd; at += 1, offset += 2) {
          first = Math.max(first, LOUDNESS[mulaw[offset] ?? 0] ?? 0);
          second = Math.max(second, LOUDNESS[mulaw[offset + 1] ?? 0] ?? 0);
        }
        peaks[part * 2] = first;
        peaks[part * 2 + 1] = second;
      }
    },

    /** Passes over silence of both tracks. */
    skip(silentSamples: number): void {
      at += silentSamples;
    },
  };
}
