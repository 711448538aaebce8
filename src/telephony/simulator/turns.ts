import { setTimeout as wait } from 'node:timers/promises';

/** Lets events happen one after the other, at an interval of `everyMs` at least. */
export function createTurns(everyMs: number) {
  let nextAt = 0;
  return {
    /** Resolves when it is the caller's turn; at once if there was no other lately. */
    async next(): Promise<void> {
      const now = performance.now();
      const at = Math.max(now, nextAt);
      nextAt = at + everyMs;
      if (at > now) await wait(at - now, undefined, { ref: false });
    },
  };
}
