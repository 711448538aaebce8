import type { ApiContext } from './context.js';
import { unavailable } from './deadline.js';

/** Reads a body that is not known to be signed; stops, and keeps nothing of it, once the signal is aborted. */
export type Read<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Bounds the bodies that are read before it is known who sends them. The oldest makes room: the body of an honest
 * sender arrives within milliseconds, so the oldest is the least likely to be one. Addresses play no part, since carriers
 * send from few of them.
 * @param total bodies that are read at the same time in this process
 */
export function createBodiesInFlight(total: number) {
  /** By age. */
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
     * @throws ServiceError what `read` throws; SERVICE_UNAVAILABLE, after which the connection is closed, when the body
     *   had to make room, so that the sender tries again
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

/** Gives every request the means to read its body as that of a stranger. @param total see {@link createBodiesInFlight} */
export function boundStrangersBodies(total: number) {
  const bodies = createBodiesInFlight(total);
  return (ctx: ApiContext, next: () => Promise<unknown>): Promise<unknown> => {
    ctx.state.readOfStranger = (read) => bodies.read(ctx, read);
    return next();
  };
}
