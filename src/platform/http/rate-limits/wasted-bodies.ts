import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../../kernel/errors.js';

/** A body of 57 kB, which is a large agent, takes 33 ms to check. So the checks take at most 2 % of a process's time. */
const BYTES_PER_MINUTE = 2_000_000;
/** Smaller bodies cost little, whatever becomes of them. */
const LARGE_BYTES = 8_192;
const WINDOW_SECONDS = 60;

/** The body of one request. */
export interface CheckedBody {
  /**
   * Counts the body before it is checked, so that many at the same time cannot exceed the limit.
   * @throws ServiceError RATE_LIMIT_EXCEEDED
   */
  charge(bytes: number): Promise<void>;
  /** Takes the body off the count, because the request changed something or failed because of the service. */
  refund(): Promise<void>;
  /** Counts what else a request without an effect cost, such as a small change of a large agent. */
  chargeMore(bytes: number): Promise<void>;
}

export type WastedBodies = ReturnType<typeof createWastedBodies>;

/**
 * Limits the large bodies of a sender that are checked in this process and change nothing, because they are rejected or
 * equal to what is stored. Changes have separate limits.
 */
export function createWastedBodies() {
  const limiter = new RateLimiterMemory({ points: BYTES_PER_MINUTE, duration: WINDOW_SECONDS });

  async function assertLeft(sender: string): Promise<void> {
    const used = await limiter.get(sender);
    if (used !== null && used.consumedPoints > BYTES_PER_MINUTE) throw exceeded(used);
  }

  return {
    /** @param p.isSmallLimited whether small bodies are rejected, too, when the sender has used up the limit */
    of(sender: string, p: { isSmallLimited: boolean }): CheckedBody {
      let charged = 0;
      return {
        async charge(bytes) {
          if (bytes < LARGE_BYTES) return p.isSmallLimited ? assertLeft(sender) : undefined;
          await limiter.consume(sender, bytes).catch((error: unknown) => {
            throw error instanceof RateLimiterRes ? exceeded(error) : error;
          });
          charged = bytes;
        },
        async refund() {
          if (charged > 0) await limiter.reward(sender, charged);
        },
        async chargeMore(bytes) {
          if (bytes >= LARGE_BYTES && bytes > charged) await limiter.penalty(sender, bytes - charged);
        },
      };
    },
  };
}

function exceeded({ msBeforeNext }: RateLimiterRes): ServiceError {
  const message =
    'Too many large requests changed nothing. Retry after Retry-After seconds, and send only the fields that differ.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, Math.max(1, Math.ceil(msBeforeNext / 1_000)));
}
