import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../../kernel/errors.js';

/**
 * A body of 57 kB, which is a large agent, takes 33 ms to check. So the checks of a sender take at most 2 % of a process's
 * time, and those of an account, which may have many keys, at most 4 %.
 */
const BYTES_PER_MINUTE = { sender: 2_000_000, account: 4_000_000 };
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
  const limiterOf = (points: number) => new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  const ofSender = limiterOf(BYTES_PER_MINUTE.sender);
  const ofAccount = limiterOf(BYTES_PER_MINUTE.account);

  return {
    /**
     * @param p.account the account and mode of the sender
     * @param p.isSmallLimited whether small bodies are rejected, too, when the limit is used up
     */
    of(p: { account: string; sender: string; isSmallLimited: boolean }): CheckedBody {
      const counters = [
        { limiter: ofSender, key: `${p.account} ${p.sender}` },
        { limiter: ofAccount, key: p.account },
      ];
      let charged = 0;

      async function assertLeft(): Promise<void> {
        for (const { limiter, key } of counters) {
          const used = await limiter.get(key);
          if (used !== null && used.consumedPoints > limiter.points) throw exceeded(used);
        }
      }

      return {
        async charge(bytes) {
          if (bytes < LARGE_BYTES) return p.isSmallLimited ? assertLeft() : undefined;
          const taken: typeof counters = [];
          for (const counter of counters) {
            taken.push(counter);
            await counter.limiter.consume(counter.key, bytes).catch(async (error: unknown) => {
              // This body is not checked, so it must not count against the next ones.
              await giveBack(taken, bytes);
              throw error instanceof RateLimiterRes ? exceeded(error) : error;
            });
          }
          charged = bytes;
        },
        async refund() {
          if (charged > 0) await giveBack(counters, charged);
        },
        async chargeMore(bytes) {
          if (bytes < LARGE_BYTES || bytes <= charged) return;
          for (const { limiter, key } of counters) await limiter.penalty(key, bytes - charged);
        },
      };
    },
  };
}

async function giveBack(
  counters: readonly { limiter: RateLimiterMemory; key: string }[],
  bytes: number,
): Promise<void> {
  for (const { limiter, key } of counters) await limiter.reward(key, bytes);
}

function exceeded({ msBeforeNext }: RateLimiterRes): ServiceError {
  const message =
    'Too many large requests changed nothing. Retry after Retry-After seconds, and send only the fields that differ.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, Math.max(1, Math.ceil(msBeforeNext / 1_000)));
}
