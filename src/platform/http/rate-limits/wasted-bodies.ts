import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ServiceError } from '../../../kernel/errors.js';

/** A body of 57 kB, which is a large agent, takes 33 ms to check. So the checks take at most 2 % of a process's time. */
const BYTES_PER_MINUTE = 2_000_000;
/** Smaller bodies cost little, whatever becomes of them. */
const LARGE_BYTES = 8_192;
const WINDOW_SECONDS = 60;

export type WastedBodies = ReturnType<typeof createWastedBodies>;

/**
 * Limits the large bodies of a sender that are checked in this process and change nothing, because they are rejected or
 * equal to what is stored. Changes have separate limits.
 */
export function createWastedBodies() {
  const limiter = new RateLimiterMemory({ points: BYTES_PER_MINUTE, duration: WINDOW_SECONDS });
  return {
    /** @throws ServiceError RATE_LIMIT_EXCEEDED if the sender has none left in this minute */
    async assertLeft(sender: string): Promise<void> {
      const wasted = await limiter.get(sender);
      if (wasted === null || wasted.consumedPoints < BYTES_PER_MINUTE) return;
      const message =
        'Too many large requests changed nothing. Retry after Retry-After seconds, and send only the fields that differ.';
      throw new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, Math.max(1, Math.ceil(wasted.msBeforeNext / 1_000)));
    },

    async count(sender: string, bytes: number): Promise<void> {
      if (bytes >= LARGE_BYTES) await limiter.penalty(sender, bytes);
    },
  };
}
