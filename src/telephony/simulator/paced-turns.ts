/** Turns that follow each other at intervals. */
export interface PacedTurns {
  /**
   * Takes the next turn, after which the next one is `everyMs` later.
   * @returns how long to wait for it, in ms; 0 if there was no other lately
   */
  take(everyMs: number): number;
}

export function createPacedTurns(now: () => number = () => performance.now()): PacedTurns {
  let nextAt = 0;
  return {
    take(everyMs) {
      const at = now();
      const turnAt = Math.max(at, nextAt);
      nextAt = turnAt + everyMs;
      return turnAt - at;
    },
  };
}
