import { encodeMulaw, MULAW_SILENCE } from './mulaw.js';

const SAMPLE_RATE = 8_000;
const ROWS = [697, 770, 852, 941] as const;
const COLUMNS = [1_209, 1_336, 1_477, 1_633] as const;
const KEYS = ['123A', '456B', '789C', '*0#D'] as const;
const ON_MS = 100;
const OFF_MS = 60;
/** A pause of half a second, as dialers write it. */
const PAUSE_KEY = 'w';
const PAUSE_MS = 500;
/** Each of the two tones; together they stay below a third of full scale. */
const AMPLITUDE = 5_000;
const SAMPLES_PER_MS = SAMPLE_RATE / 1_000;

export class NotAKey extends Error {
  constructor(readonly key: string) {
    super(`${JSON.stringify(key)} is no key of a telephone: 0 to 9, *, #, A to D, or w for half a second of pause`);
  }
}

/**
 * Keys of a telephone as the tones that a far end hears: 100 ms each, 60 ms of silence after it.
 * @param digits 0 to 9, *, #, A to D (either case); w waits half a second
 * @returns 8 kHz mu-law
 * @throws NotAKey for any other character
 */
export function dtmfTones(digits: string): Uint8Array {
  const parts = Array.from(digits, (key) => (key === PAUSE_KEY ? silence(PAUSE_MS) : keyTone(key)));
  return Buffer.concat(parts);
}

function keyTone(key: string): Uint8Array {
  const row = KEYS.findIndex((keys) => keys.includes(key.toUpperCase()));
  const low = ROWS[row];
  const high = COLUMNS[KEYS[row]?.indexOf(key.toUpperCase()) ?? -1];
  if (low === undefined || high === undefined) throw new NotAKey(key);
  const samples = Int16Array.from({ length: ON_MS * SAMPLES_PER_MS }, (_, i) => {
    const time = (2 * Math.PI * i) / SAMPLE_RATE;
    return Math.round(AMPLITUDE * (Math.sin(low * time) + Math.sin(high * time)));
  });
  return Buffer.concat([encodeMulaw(samples), silence(OFF_MS)]);
}

function silence(ms: number): Uint8Array {
  return new Uint8Array(ms * SAMPLES_PER_MS).fill(MULAW_SILENCE);
}

/** Listens for one steady tone, as answering machines play it before they record. */
export interface BeepDetector {
  /** @param pcm the next 20 ms at 8 kHz; @returns true once for each beep, when it has ended */
  push(pcm: Int16Array): boolean;
}

const BEEP_HERTZ = { from: 350, to: 2_200 };
/** A vowel that is sung so evenly for so long is not speech. */
const BEEP_MIN_MS = 180;
const FRAME_MS = 20;
const STEADY_SHARE = 0.03;
/** What a sine leaves over of itself; voices leave 0.05 and more. */
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
 * The frequency of the one sine that the samples are, or undefined when they are anything else. A sine obeys
 * x[n+1] + x[n-1] = 2 cos(w) x[n]; the factor is fitted, and what does not fit is the residue.
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
  // Relative to the tone itself: near a quarter of the sample rate the sums of a sine vanish.
  const residue = (sums - factor * product) / energy;
  if (residue > MAX_RESIDUE) return undefined;
  const hertz = (Math.acos(factor / 2) * SAMPLE_RATE) / (2 * Math.PI);
  return hertz >= BEEP_HERTZ.from && hertz <= BEEP_HERTZ.to ? hertz : undefined;
}
