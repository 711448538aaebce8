import type { Mode } from '../../kernel/ids.js';

/** The part of a socket that is needed here. */
interface SlotSocket {
  once(event: 'close', listener: () => void): unknown;
  destroy(): unknown;
  /** True if it is closed, or about to be. Its `close` event may have been already. */
  readonly destroyed: boolean;
}

/** Maximum number of concurrent streams of a media server. */
export interface StreamLimits {
  all: number;
  /** Maximum for test calls, which also count towards `all`. Test calls are free, so they must not fill the server. */
  test: number;
}

/**
 * Limits for streams with a valid signature. They do not depend on the address, because a carrier uses only a few
 * addresses. 200 test calls take half of a core, which leaves the other half to live calls.
 */
export const MAX_STREAMS: StreamLimits = { all: 4_000, test: 200 };

/** The limits of a server that carries at most so many calls. Test calls have at most half of them. */
export function streamLimitsFor(maxCalls: number): StreamLimits {
  return { all: maxCalls, test: Math.min(MAX_STREAMS.test, Math.ceil(maxCalls / 2)) };
}

/** The properties of a call that determine which limit applies. */
export interface StreamOwner {
  mode: Mode;
  accountId: string;
}

/**
 * Counts the streams of a media server. A socket frees its slots when it closes. Test calls of one account may use at
 * most as many slots as remain free, so that a single account cannot take more than half of them. A tenth of the slots is
 * assured to an account as long as another one has more than that: its newest stream is then ended. So a few accounts
 * cannot block the others.
 */
export function createStreamSlots(limits: StreamLimits) {
  const all = new Set<SlotSocket>();
  /** The sockets of test calls, each with its account, oldest first. */
  const test = new Map<SlotSocket, string>();
  const assured = Math.max(1, Math.floor(limits.test / 10));

  const slotsOf = (accountId: string) =>
    Array.from(test).flatMap(([socket, owner]) => (owner === accountId ? [socket] : []));

  /** Selects the newest stream of the account with the most streams, if that account has more than its assured ones. */
  function streamToEnd(): SlotSocket | undefined {
    const byAccount = Array.from(new Set(test.values()), slotsOf);
    const [most = []] = byAccount.toSorted((a, b) => b.length - a.length);
    return most.length > assured ? most.at(-1) : undefined;
  }

  function assignTest(socket: SlotSocket, accountId: string): boolean {
    if (socket.destroyed) return false;
    const own = slotsOf(accountId).length;
    if (own >= limits.test - test.size) {
      const ended = own < assured ? streamToEnd() : undefined;
      if (ended === undefined) return false;
      test.delete(ended);
      ended.destroy();
    }
    test.set(socket, accountId);
    socket.once('close', () => test.delete(socket));
    return true;
  }

  return {
    isFull: () => all.size >= limits.all,

    /** Takes a slot for a socket, before its call's mode is known. @returns false if the server is full */
    acquire(socket: SlotSocket): boolean {
      if (all.size >= limits.all || socket.destroyed) return false;
      all.add(socket);
      socket.once('close', () => all.delete(socket));
      return true;
    },
    /** Frees the slots of a socket that gets no stream, although its client may keep it open for a while. */
    release(socket: SlotSocket): void {
      all.delete(socket);
      test.delete(socket);
    },
    /** Applies the limits for the call's mode and account. @returns false if a limit is reached */
    assign: (socket: SlotSocket, { mode, accountId }: StreamOwner) => mode === 'live' || assignTest(socket, accountId),
  };
}
