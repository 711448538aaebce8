import { setTimeout as sleep } from 'node:timers/promises';

export const LONGEST_DELAY_MS = 5_000;
const FIRST_DELAY_MS = 250;
/** As many failures as one address may have cost no time: people mistype. */
const FREE_FAILURES = 5;
/** A delayed request holds a socket, so only so many wait at once. */
const MOST_HELD = 200;
const MOST_HELD_OF_ONE = 10;

/** How long the next try of an e-mail address waits after so many failures, in ms. */
export function delayAfter(failures: number): number {
  if (failures < FREE_FAILURES) return 0;
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - FREE_FAILURES));
}

/** Holds requests back, so many at once and so many of one key. */
export function createDelays() {
  const held = new Map<string, number>();
  let heldInAll = 0;

  return {
    /** @returns true after the wait, or false at once when too many wait already */
    async wait(key: string, ms: number): Promise<boolean> {
      if (ms === 0) return true;
      const ofKey = held.get(key) ?? 0;
      if (heldInAll >= MOST_HELD || ofKey >= MOST_HELD_OF_ONE) return false;
      held.set(key, ofKey + 1);
      heldInAll++;
      try {
        await sleep(ms);
      } finally {
        heldInAll--;
        const left = (held.get(key) ?? 1) - 1;
        if (left === 0) held.delete(key);
        else held.set(key, left);
      }
      return true;
    },
  };
}
