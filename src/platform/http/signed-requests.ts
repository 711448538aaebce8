import { ServiceError } from '../../kernel/errors.js';
import { createBodiesInFlight, type Read } from './bodies-in-flight.js';
import { createFairQueues } from '../fair-queue.js';
import type { ApiContext } from './context.js';
import { abortSignalOf, deadlineOf, serviceUnavailable } from './deadline.js';
import type { FailureLimiter } from './rate-limits/rate-limit.js';

/** Maximum signed requests handled at once in one process: two callbacks for each of 500 calls. */
const MAX_IN_FLIGHT = 1_000;

/**
 * Maximum handled at once of one sender that shares the process with others. More of them would take the connections to
 * MongoDB from the calls of everybody else.
 */
const MAX_RUNNING_OF_SENDER = 10;

/** Default time that a request waits for its sender's other ones, which leaves half of the time of a callback. */
const MAX_WAIT_MS = 2_000;

/**
 * Maximum bodies read at once to check their signature. Each has at most 64 KiB, so requests with invalid signatures
 * occupy at most 64 MiB.
 */
const MAX_BODIES = 1_000;

/** Reads the body to be verified. Another request may abort the read, see `createBodiesInFlight`. */
export type ReadSigned = <T>(read: Read<T>) => Promise<T>;

interface Sharing<T> {
  /** The sender, if it shares the process with others; its requests beyond ten at once wait. Default: it does not. */
  senderOf?: (verified: T) => string | undefined;
  /** The groups among which the sender's turns are shared, widest first. Default: none. */
  groupsOf?: (verified: T) => readonly string[];
  /** How long a request waits, at most. */
  maxWaitMs?: number;
}

export type SignedRequests = ReturnType<typeof createSignedRequests>;

/**
 * Admits requests that a carrier or payment provider signed. They arrive in bursts from few addresses, so valid ones
 * are limited in total and per sender, but not per address. Only requests without a valid signature count against an
 * address.
 */
export function createSignedRequests(deps: { failureLimiter: FailureLimiter; maxInFlight?: number }) {
  const { failureLimiter, maxInFlight = MAX_IN_FLIGHT } = deps;
  const running = createFairQueues({ maxRunning: MAX_RUNNING_OF_SENDER });
  const bodies = createBodiesInFlight(MAX_BODIES);
  const inFlightOf = new Map<string, number>();
  let inFlight = 0;

  function count(sender: string | undefined, change: 1 | -1): void {
    inFlight += change;
    if (sender === undefined) return;
    const left = (inFlightOf.get(sender) ?? 0) + change;
    if (left === 0) inFlightOf.delete(sender);
    else inFlightOf.set(sender, left);
  }

  async function waitForTurn(
    ctx: ApiContext,
    sender: string,
    { groups, maxWaitMs }: { groups: readonly string[]; maxWaitMs: number },
  ): Promise<void> {
    const signal = running.isFree(sender, { groups }) ? undefined : abortSignalOf(ctx, deadlineOf(ctx, maxWaitMs));
    await running.enter(sender, { groups, ...(signal && { signal }) });
  }

  return {
    /** Releases the slot of an admitted request when it has been handled. */
    middleware: async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
      try {
        await next();
      } finally {
        ctx.state.releaseSigned?.();
      }
    },

    /**
     * Verifies a request and admits it.
     * @param verify returns what it verified, and must read the body with the function that it receives. If it throws
     * UNAUTHORIZED or FORBIDDEN, this counts as a failure of the client's network address.
     * @throws ServiceError what `verify` throws; RATE_LIMIT_EXCEEDED instead if the address failed too often;
     * SERVICE_UNAVAILABLE if too many signed requests are in flight, if those of its sender are as many as there is room
     * for others, or if it waited too long, so that the sender retries
     */
    async admit<T>(
      ctx: ApiContext,
      verify: (read: ReadSigned) => Promise<T>,
      { senderOf, groupsOf, maxWaitMs = MAX_WAIT_MS }: Sharing<T> = {},
    ): Promise<T> {
      const verified = await verifiedOrCounted(ctx, () => verify((read) => bodies.read(ctx, read)));
      const sender = senderOf?.(verified);
      const own = sender === undefined ? 0 : (inFlightOf.get(sender) ?? 0);
      if (inFlight + own >= maxInFlight) throw serviceUnavailable();
      count(sender, 1);
      ctx.state.releaseSigned = () => count(sender, -1);
      if (sender === undefined) return verified;
      const groups = groupsOf?.(verified) ?? [];
      await waitForTurn(ctx, sender, { groups, maxWaitMs });
      ctx.state.releaseSigned = () => {
        count(sender, -1);
        running.leave(sender, { groups });
      };
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
