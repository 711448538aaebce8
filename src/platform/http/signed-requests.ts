import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';
import { unavailable } from './deadline.js';
import type { FailureLimiter } from './rate-limit.js';

/** Signed requests that one process handles at the same time: two callbacks for each of 500 calls. */
const MAX_IN_FLIGHT = 1_000;

export type SignedRequests = ReturnType<typeof createSignedRequests>;

/**
 * Admits requests that a carrier or a payment provider signed. They come in bursts and from few addresses, so valid ones
 * are bounded all together and never per address. Only requests without a valid signature count against their address.
 */
export function createSignedRequests(deps: { failureLimiter: FailureLimiter; maxInFlight?: number }) {
  const { failureLimiter, maxInFlight = MAX_IN_FLIGHT } = deps;
  let inFlight = 0;

  return {
    /** Ends the admission of a request when it has been handled. */
    middleware: async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
      try {
        await next();
      } finally {
        if (ctx.state.isAdmitted === true) inFlight -= 1;
      }
    },

    /**
     * Verifies a request and admits it.
     * @param verify returns what was verified, or throws a ServiceError that is counted as a failure of the address
     * @throws ServiceError what `verify` throws; RATE_LIMIT_EXCEEDED instead when the address failed too often;
     *   SERVICE_UNAVAILABLE when too many signed requests are in flight, so that the sender tries again
     */
    async admit<T>(ctx: ApiContext, verify: () => Promise<T>): Promise<T> {
      const verified = await verifiedOrCounted(ctx, verify);
      if (inFlight >= maxInFlight) throw unavailable();
      inFlight += 1;
      ctx.state.isAdmitted = true;
      return verified;
    },
  };

  async function verifiedOrCounted<T>(ctx: ApiContext, verify: () => Promise<T>): Promise<T> {
    try {
      return await verify();
    } catch (error) {
      if (error instanceof ServiceError) await failureLimiter.count(ctx);
      throw error;
    }
  }
}
