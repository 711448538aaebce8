import type { Mode } from '../../kernel/ids.js';

/** The part of a socket that its place needs. */
interface PlacedSocket {
  once(event: 'close', listener: () => void): unknown;
}

/** How many streams a media server takes at the same time. */
export interface StreamLimits {
  all: number;
  /** Of these, by test calls: they are free, so whoever places them must not fill the server. */
  test: number;
}

/**
 * Streams with a valid signature, of whatever address: a carrier's come from a few. 200 test calls take half of a core,
 * which leaves live calls the other half.
 */
export const MAX_STREAMS: StreamLimits = { all: 4_000, test: 200 };

/** Counts the streams of a media server; a socket gives its places back when it closes. */
export function createStreamPlaces(limits: StreamLimits) {
  const all = new Set<PlacedSocket>();
  const test = new Set<PlacedSocket>();

  function take(places: Set<PlacedSocket>, limit: number, socket: PlacedSocket): boolean {
    if (places.size >= limit) return false;
    places.add(socket);
    socket.once('close', () => places.delete(socket));
    return true;
  }

  return {
    /** @returns whether there is a place for the socket, of whichever mode its call turns out to be */
    take: (socket: PlacedSocket) => take(all, limits.all, socket),
    /** @returns whether calls of the mode may have the place that the socket took */
    keep: (socket: PlacedSocket, mode: Mode) => mode === 'live' || take(test, limits.test, socket),
  };
}
