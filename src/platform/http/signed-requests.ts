import { ServiceError } from '../../kernel/errors.js';
import { createBodiesInFlight, type Read } from './bodies-in-flight.js';
import type { ApiContext } from './context.js';
import { serviceUnavailable } from './deadline.js';
import type { FailureLimiter } from './rate-limits/rate-limit.js';

/** Maximum signed requests handled at once in one process: two callbacks for each of 500 calls. */
const MAX_IN_FLIGHT = 1_000;

/**
 * Maximum bodies read at once to check their signature. Each has at most 64 KiB, so requests with invalid signatures
 * occupy at most 64 MiB.
 */
const MAX_BODIES = 1_000;

/** Reads the body to be verified. Another request may abort the read, see `createBodiesInFlight`. */
export type ReadSigned = <T>(read: Read<T>) => Promise<T>;

export type SignedRequests = ReturnType<typeof createSignedRequests>;

/**
 * Admits requests that a carrier or payment provider signed. They arrive in bursts from few addresses, so valid ones
 * are limited in total, but not per address. Only requests without a valid signature count against an address.
 */
export function createSignedRequests(deps: { failureLimiter: FailureLimiter; maxInFlight?: number }) {
  const { failureLimiter, maxInFlight = MAX_IN_FLIGHT } = deps;
  const bodies = createBodiesInFlight(MAX_BODIES);
  let inFlight = 0;

  return {
    /** Releases the slot of an admitted request when it has been handled. */
    middleware: async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
      try {
        await next();
      } finally {
        if (ctx.state.isAdmitted === true) inFlight -= 1;
      }
    },

    /**
     * Verifies a request and admits it.
     * @param verify returns what it verified, and must read the body with the function that it receives. If it throws
     * UNAUTHORIZED or FORBIDDEN, this counts as a failure of the client's network address.
     * @throws ServiceError what `verify` throws; RATE_LIMIT_EXCEEDED instead if the address failed too often;
     * SERVICE_UNAVAILABLE if too many signed requests are in flight, so that the sender retries
     */
    async admit<T>(ctx: ApiContext, verify: (read: ReadSigned) => Promise<T>): Promise<T> {
      const verified = await verifiedOrCounted(ctx, () => verify((read) => bodies.read(ctx, read)));
      if (inFlight >= maxInFlight) throw serviceUnavailable();
      inFlight += 1;
      ctx.state.isAdmitted = true;
      return verified;
    },
  };

  async function verifiedOrCounted<T>(ctx: ApiContext, verify: () => Promise<T>): Promise<T> {
    try {
      return await verify();
    } catch (error) {
      if (isRejection(error)) await failureLimiter.count(ctx);
      throw error;
    }
  }
}

/** Whether an error counts as a failure of the network address. Errors that valid senders can cause do not count. */
function isRejection(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'UNAUTHORIZED' || error.code === 'FORBIDDEN');
}
