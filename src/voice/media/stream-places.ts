import type { Mode } from '../../kernel/ids.js';

/** The part of a socket that is needed here. */
interface PlacedSocket {
  once(event: 'close', listener: () => void): unknown;
}

/** Maximum number of concurrent streams of a media server. */
export interface StreamLimits {
  all: number;
  /** Maximum for test calls within `all`: they are free, so they must not fill the server. */
  test: number;
}

/**
 * Limits for streams with a valid signature, regardless of address, because a carrier uses only a few. 200 test calls
 * take half of a core, which leaves the other half to live calls.
 */
export const MAX_STREAMS: StreamLimits = { all: 4_000, test: 200 };

/** The properties of a call that its limit depends on. */
export interface StreamOwner {
  mode: Mode;
  accountId: string;
}

/**
 * Counts the streams of a media server; a socket frees its slots when it closes. Test calls of one account may use at
 * most as many slots as remain free: half of all if it is alone, so that other accounts always find room.
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
    /** Takes a slot for a socket, before its call's mode is known. @returns false if the server is full */
    take(socket: PlacedSocket): boolean {
      if (all.size >= limits.all) return false;
      all.add(socket);
      socket.once('close', () => all.delete(socket));
      return true;
    },
    /** Keeps the slot for a known call. @returns false if there is no room for its mode or account */
    keep: (socket: PlacedSocket, { mode, accountId }: StreamOwner) => mode === 'live' || keepTest(socket, accountId),
  };
}
