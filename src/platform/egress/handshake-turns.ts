import { setTimeout as sleep } from 'node:timers/promises';

/** An account's servers may use this share of the time. An ordinary handshake takes about 2 ms. */
const SHARE = 1 / 50;
/** Shorter work is not counted. */
const CHEAP_MS = 20;
/** Accounts with recent costly handshakes that are remembered. The longest remembered goes first. */
const MAX_ACCOUNTS = 1_000;

export interface HandshakeTurns {
  /** Resolves when the account's servers may have a handshake. @throws the signal's reason if it is aborted before */
  wait(accountId: string, signal: AbortSignal): Promise<void>;
  /** Counts work that a server of the account caused. */
  count(accountId: string, workMs: number): void;
}

/**
 * Limits the time that the servers of one account can block this process during TLS handshakes. A server chooses the
 * sizes of keys, so it also chooses how long we compute.
 * @param now current time in ms, from a monotonic clock
 */
export function createHandshakeTurns(now: () => number = () => performance.now()): HandshakeTurns {
  /** When the next handshake may begin, by account. */
  const freeAt = new Map<string, number>();
  return {
    async wait(accountId, signal) {
      for (;;) {
        const waitMs = (freeAt.get(accountId) ?? 0) - now();
        if (waitMs <= 0) return;
        // Several requests may wait, and the first of them may block the others again.
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    },

    count(accountId, workMs) {
      if (workMs < CHEAP_MS) return;
      const from = Math.max(now(), freeAt.get(accountId) ?? 0);
      freeAt.delete(accountId);
      freeAt.set(accountId, from + workMs / SHARE);
      const [longest] = freeAt.keys();
      if (freeAt.size > MAX_ACCOUNTS && longest !== undefined) freeAt.delete(longest);
    },
  };
}
