import { ServiceError } from '../../kernel/errors.js';
import { createBodiesInFlight, type Read } from './bodies-in-flight.js';
import type { ApiContext } from './context.js';
import { unavailable } from './deadline.js';
import type { FailureLimiter } from './rate-limit.js';

/** Signed requests that one process handles at the same time: two callbacks for each of 500 calls. */
const MAX_IN_FLIGHT = 1_000;

/** Bodies of at most 64 KiB that are read to check their signature: 64 MiB are held at most for whoever has none. */
const MAX_BODIES = 1_000;

/** Reads the body whose signature is verified. It may have to make room for another one. */
export type ReadSigned = <T>(read: Read<T>) => Promise<T>;

export type SignedRequests = ReturnType<typeof createSignedRequests>;

/**
 * Admits requests that a carrier or a payment provider signed. They come in bursts and from few addresses, so valid ones
 * are bounded all together and never per address. Only refusals for want of a valid signature count against an address.
 */
export function createSignedRequests(deps: { failureLimiter: FailureLimiter; maxInFlight?: number }) {
  const { failureLimiter, maxInFlight = MAX_IN_FLIGHT } = deps;
  const bodies = createBodiesInFlight(MAX_BODIES);
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
     * @param verify returns what was verified; where it throws UNAUTHORIZED or FORBIDDEN, that is counted as a failure of
     *   the address. It reads the body with the function that it is given.
     * @throws ServiceError what `verify` throws; RATE_LIMIT_EXCEEDED instead when the address failed too often;
     *   SERVICE_UNAVAILABLE when too many signed requests are in flight, so that the sender tries again
     */
    async admit<T>(ctx: ApiContext, verify: (read: ReadSigned) => Promise<T>): Promise<T> {
      const verified = await verifiedOrCounted(ctx, () => verify((read) => bodies.read(ctx, read)));
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
      if (isRefusal(error)) await failureLimiter.count(ctx);
      throw error;
    }
  }
}

/** What an honest sender may meet as well, such as a body that had to make room, is no failure. */
function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'UNAUTHORIZED' || error.code === 'FORBIDDEN');
}
