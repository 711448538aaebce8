import type { StreamFaults } from '../scenario.js';

/** What the way does to the frames of one call. The same in each run: a fault that comes and goes cannot be looked into. */
export interface Impairment {
  losesFrame(): boolean;
  /** Milliseconds that the next frame comes late. */
  delayMs(): number;
}

const SEED = 0x5eed;

export function createImpairment({ lossPercent, jitterMs }: StreamFaults): Impairment {
  const losses = createRandom(SEED);
  const delays = createRandom(SEED + 1);
  return {
    losesFrame: () => lossPercent > 0 && losses() * 100 < lossPercent,
    delayMs: () => (jitterMs > 0 ? delays() * jitterMs : 0),
  };
}

/** Marsaglia's xorshift with 32 bits. @returns numbers from 0 to below 1 */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x1_0000_0000;
  };
}
