import type { ApiContext } from './context.js';
import { unavailable } from './deadline.js';

/** Reads the body of an unauthenticated request; stops and discards it once the signal is aborted. */
export type Read<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Limits how many bodies of unauthenticated requests are read at once. At the limit the oldest read is aborted: an
 * honest body arrives within milliseconds, so the oldest is the least likely to be one. Addresses do not matter,
 * because carriers send from few of them.
 * @param total bodies read at once in this process
 */
export function createBodiesInFlight(total: number) {
  /** Oldest first. */
  const reading = new Set<AbortController>();

  function dropOldest(): void {
    for (const oldest of reading) {
      reading.delete(oldest);
      oldest.abort(unavailable());
      return;
    }
  }

  return {
    /**
     * @throws ServiceError what `read` throws; SERVICE_UNAVAILABLE if this read was aborted for another one, so that
     *   the sender retries; the connection is then closed
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

/** Middleware that sets `readOfStranger` on every request. @param total see {@link createBodiesInFlight} */
export function boundStrangersBodies(total: number) {
  const bodies = createBodiesInFlight(total);
  return (ctx: ApiContext, next: () => Promise<unknown>): Promise<unknown> => {
    ctx.state.readOfStranger = (read) => bodies.read(ctx, read);
    return next();
  };
}
