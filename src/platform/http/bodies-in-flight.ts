import type { ApiContext } from './context.js';
import { serviceUnavailable } from './deadline.js';

/** Reads the body of an unauthenticated request. When the signal is aborted, stops and discards the body. */
export type Read<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Limits how many bodies of unauthenticated requests are read at once. At the limit, the oldest read is aborted. A
 * normal body arrives within milliseconds, so the oldest one most likely belongs to an attack. There is no limit per
 * address, because carriers send from few addresses.
 * @param total maximum bodies read at once in this process
 */
export function createBodiesInFlight(total: number) {
  /** The reads in progress, oldest first. */
  const reading = new Set<AbortController>();

  function dropOldest(): void {
    for (const oldest of reading) {
      reading.delete(oldest);
      oldest.abort(serviceUnavailable());
      return;
    }
  }

  return {
    /**
     * Reads one body.
     * @throws ServiceError what `read` throws; SERVICE_UNAVAILABLE if this read was aborted in favor of another. The
     * sender then retries, and the connection is closed.
     */
    async read<T>(ctx: ApiContext, read: Read<T>): Promise<T> {
      const own = new AbortController();
      reading.add(own);
      if (reading.size > total) dropOldest();
      try {
        return await read(own.signal);
      } finally {
        reading.delete(own);
        if (own.signal.aborted) ctx.set('Connection', 'close');
      }
    },
  };
}

/** Middleware that sets `readUnauthenticated` on every request. @param total see {@link createBodiesInFlight} */
export function limitUnauthenticatedBodies(total: number) {
  const bodies = createBodiesInFlight(total);
  return (ctx: ApiContext, next: () => Promise<unknown>): Promise<unknown> => {
    ctx.state.readUnauthenticated = (read) => bodies.read(ctx, read);
    return next();
  };
}
