import type { StreamFaults } from '../scenario.js';

/**
 * Simulates packet loss and jitter for one call. The random sequence is the same in every run, so that faults are
 * reproducible.
 */
export interface Impairment {
  isFrameLost(): boolean;
  /** Delay of the next frame in ms. */
  delayMs(): number;
}

const SEED = 0x5eed;

export function createImpairment({ lossPercent, jitterMs }: StreamFaults): Impairment {
  const losses = createRandom(SEED);
  const delays = createRandom(SEED + 1);
  return {
    isFrameLost: () => lossPercent > 0 && losses() * 100 < lossPercent,
    delayMs: () => (jitterMs > 0 ? delays() * jitterMs : 0),
  };
}

/**
 * Marsaglia's 32-bit xorshift generator.
 * @returns a function that returns numbers from 0 (inclusive) to 1 (exclusive)
 */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x1_0000_0000;
  };
}
