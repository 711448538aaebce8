import { FRAME_BYTES } from './frame.js';
import { encodeMulaw, encodeMulawSample, MULAW_SAMPLES } from './mulaw.js';

/** `room`: the quiet hum of a room. `office`: also faint murmur and typing. */
export type BackgroundKind = 'room' | 'office';

const SAMPLES_PER_SECOND = 8_000;
/** A whole number of frames. */
const LOOP_SAMPLES = 8 * SAMPLES_PER_SECOND;
/** The end of the loop fades into its beginning, so that its repetition is not heard. */
const FADE_SAMPLES = SAMPLES_PER_SECOND / 2;
/** About 42 dB below the loudest possible tone, or 20 dB below usual speech. */
const LEVEL = 260;

/** A sound of some seconds that is repeated. Calls share it. */
export interface BackgroundLoop {
  linear: Int16Array;
  mulaw: Uint8Array;
}

/** The background of one call. Both functions return the next 20 ms of it, valid until the next call. */
export interface BackgroundSound {
  alone(): Uint8Array;
  /** @param frame 20 ms of the agent's voice */
  under(frame: Uint8Array): Uint8Array;
}

export type BackgroundLoops = ReturnType<typeof createBackgroundLoops>;

/** Creates the sounds when a call first needs them, from fixed random numbers: no recordings of people or places. */
export function createBackgroundLoops() {
  const loops = new Map<BackgroundKind, BackgroundLoop>();
  return (kind: BackgroundKind): BackgroundLoop => {
    const known = loops.get(kind);
    if (known !== undefined) return known;
    const linear = loopOf(SOUNDS[kind](LOOP_SAMPLES + FADE_SAMPLES));
    const loop = { linear, mulaw: encodeMulaw(linear) };
    loops.set(kind, loop);
    return loop;
  };
}

/** Starts the background of a call. */
export function createBackgroundSound({ linear, mulaw }: BackgroundLoop): BackgroundSound {
  const mixed = new Uint8Array(FRAME_BYTES);
  let at = 0;

  function next(): number {
    const from = at;
    at = (at + FRAME_BYTES) % linear.length;
    return from;
  }

  return {
    alone() {
      const from = next();
      return mulaw.subarray(from, from + FRAME_BYTES);
    },
    under(frame) {
      const from = next();
      for (let i = 0; i < FRAME_BYTES; i++) {
        mixed[i] = encodeMulawSample((MULAW_SAMPLES[frame[i] ?? 0] ?? 0) + (linear[from + i] ?? 0));
      }
      return mixed;
    },
  };
}

/** The sounds, each in any level. */
const SOUNDS: Record<BackgroundKind, (samples: number) => Float32Array> = {
  room: (samples) => hum(samples, createRandom(1)),
  office(samples) {
    const room = hum(samples, createRandom(1));
    const [left, right] = [murmur(samples, createRandom(2)), murmur(samples, createRandom(3))];
    const typing = clicks(samples, createRandom(4));
    return room.map((value, i) => 0.5 * value + 3 * (left[i] ?? 0) + 2 * (right[i] ?? 0) + (typing[i] ?? 0));
  },
};

/** Low noise, like that of ventilation. */
function hum(samples: number, random: () => number): Float32Array {
  let low = 0;
  return new Float32Array(samples).map(() => (low = 0.95 * low + 0.3 * random()));
}

/** Noise in the range and the rhythm of speech, without words. */
function murmur(samples: number, random: () => number): Float32Array {
  let [low, band, loudness, target] = [0, 0, 0, 0];
  return new Float32Array(samples).map((_, i) => {
    // About five syllables per second, and pauses between them.
    if (i % 1_600 === 0) target = Math.max(0, random());
    loudness += 0.002 * (target - loudness);
    const pitch = 0.35;
    low += pitch * band;
    band += pitch * (random() - low - 0.4 * band);
    return band * loudness;
  });
}

/** Short clicks at uneven intervals. */
function clicks(samples: number, random: () => number): Float32Array {
  let loudness = 0;
  let next = 0;
  return new Float32Array(samples).map((_, i) => {
    if (i >= next) {
      loudness = 1 + 0.5 * random();
      next = i + SAMPLES_PER_SECOND * (random() > 0.7 ? 1.5 : 0.2 + 0.08 * random());
    }
    loudness *= 0.97;
    return loudness * random();
  });
}

/** Makes a loop of a sound that is longer by the fade, at the usual level. */
function loopOf(sound: Float32Array): Int16Array {
  const loop = sound.slice(0, LOOP_SAMPLES);
  for (let i = 0; i < FADE_SAMPLES; i++) {
    const share = i / FADE_SAMPLES;
    loop[i] = (loop[i] ?? 0) * Math.sqrt(share) + (sound[LOOP_SAMPLES + i] ?? 0) * Math.sqrt(1 - share);
  }
  const power = loop.reduce((sum, value) => sum + value * value, 0) / loop.length;
  const factor = LEVEL / Math.sqrt(power);
  return Int16Array.from(loop, (value) => Math.max(-8 * LEVEL, Math.min(8 * LEVEL, Math.round(value * factor))));
}

/** Random numbers from -1 to 1, always the same ones for a seed (a linear congruential generator). */
function createRandom(seed: number): () => number {
  let state = seed * 0x9e3779b1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state / 0x8000_0000;
  };
}
