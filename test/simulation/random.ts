/** Random choices from a seed. The same seed repeats a run exactly. */
export interface Random {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number;
  /** Returns an integer from 0 to `below` - 1. */
  below(below: number): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
}

/** The generator mulberry32, which is small, fast, and good enough to choose schedules. */
export function createRandom(seed: number): Random {
  // Mixes the bits of the seed, so that similar seeds do not give similar first numbers.
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick<T>(values: readonly T[]): T {
      return values[below(values.length)] as T;
    },
  };
}
