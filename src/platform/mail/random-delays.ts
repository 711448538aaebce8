import { randomInt } from 'node:crypto';
import { createFairQueue } from '../fair-queue.js';

/** Much longer than a mail server takes for an e-mail, so that the delay hides whether it took one. */
const MAX_DELAY_MS = 10_000;
/** Maximum e-mails whose delay runs. As many again wait for it; above that, the sender with the most loses its newest. */
const MAX_DELAYED = 1_000;

/** Returns a random delay in ms of 0 to 10 s. */
export function randomDelayMs(): number {
  return randomInt(MAX_DELAY_MS + 1);
}

/** Delays e-mails, so that the time of one does not reveal whether another was sent. */
export function createRandomDelays(p: { delayMs: () => number; createFullError: () => Error }) {
  const queue = createFairQueue({
    maxRunning: MAX_DELAYED,
    maxWaiting: MAX_DELAYED,
    createFullError: p.createFullError,
  });
  const endings = new Set<() => void>();
  let isOver = false;

  async function pause(): Promise<void> {
    if (isOver) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, p.delayMs());
      function end(): void {
        clearTimeout(timer);
        endings.delete(end);
        resolve();
      }
      endings.add(end);
    });
  }

  return {
    /** Waits a random time. @param groups groups of the sender, widest first @throws the error of `createFullError` */
    wait: (groups: readonly string[]): Promise<void> => queue.run({ groups }, pause),

    /** Ends all delays, now and from now on. */
    end(): void {
      isOver = true;
      for (const end of endings) end();
    },
  };
}
