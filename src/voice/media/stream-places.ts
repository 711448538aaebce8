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

/** The call that a stream belongs to, as far as its place depends on it. */
export interface StreamOwner {
  mode: Mode;
  accountId: string;
}

/**
 * Counts the streams of a media server; a socket gives its places back when it closes. Test calls of one account have at
 * most as many streams as they leave free: half of all if it is alone, and those of a newcomer always find room.
 */
export function createStreamPlaces(limits: StreamLimits) {
  const all = new Set<PlacedSocket>();
  const test = new Map<PlacedSocket, string>();

  function keepTest(socket: PlacedSocket, accountId: string): boolean {
    const own = [...test.values()].filter((each) => each === accountId).length;
    if (own >= limits.test - test.size) return false;
    test.set(socket, accountId);
    socket.once('close', () => test.delete(socket));
    return true;
  }

  return {
    /** @returns whether there is a place for the socket, of whichever mode its call turns out to be */
    take(socket: PlacedSocket): boolean {
      if (all.size >= limits.all) return false;
      all.add(socket);
      socket.once('close', () => all.delete(socket));
      return true;
    },
    /** @returns whether the call may have the place that the socket took */
    keep: (socket: PlacedSocket, { mode, accountId }: StreamOwner) => mode === 'live' || keepTest(socket, accountId),
  };
}
