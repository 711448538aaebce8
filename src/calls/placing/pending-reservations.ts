import type { Mode } from '../../kernel/ids.js';

export interface PendingCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

export type PendingReservations = ReturnType<typeof createPendingReservations>;

/**
 * So many test calls are decided at once for each process, of all accounts together: half of the workflow tasks that a worker
 * takes at once by default. Test calls cost nothing, and live calls must find a place beside them.
 */
const MOST_TEST_CALLS = 20;
/** Of them for one account in a process. */
export const TEST_CALLS_OF_ACCOUNT = 5;
/** An account gets another place while it has less than this share of those that are free. */
const SHARE = 1 / 2;
/** How long it counts against an account that it was let in. */
const REMEMBERED_MS = 5_000;

/** The calls of each account that this process has asked for and that are not decided yet. */
export function createPendingReservations() {
  let testCalls = 0;
  let mostTestCalls = MOST_TEST_CALLS;
  let lastCutAt = 0;
  /** Requests per call, by account and mode: repeats of a request wait for the same call. */
  const pending = new Map<string, Map<string, number>>();
  /** Waiting test calls, by account. */
  const waiting = new Map<string, number>();
  /** When each account was last served, oldest first. */
  const letInAt = new Map<string, number>();

  const keyOf = ({ accountId, mode }: PendingCall) => `${accountId}~${mode}`;
  const countOf = (key: string) => pending.get(key)?.size ?? 0;

  const hasShare = (key: string) => countOf(key) < (mostTestCalls - testCalls) * SHARE;

  /** Of the waiting accounts, the one served the longest ago goes first. */
  function isItsTurn(key: string): boolean {
    const own = letInAt.get(key) ?? 0;
    for (const other of waiting.keys()) {
      const couldEnter = countOf(other) < TEST_CALLS_OF_ACCOUNT && hasShare(other);
      if (other !== key && couldEnter && (letInAt.get(other) ?? 0) < own) return false;
    }
    return true;
  }

  function noteLetIn(key: string): void {
    const now = performance.now();
    letInAt.delete(key);
    letInAt.set(key, now);
    for (const [oldest, at] of letInAt) {
      if (now - at < REMEMBERED_MS) return;
      letInAt.delete(oldest);
    }
  }

  function leave(call: PendingCall): void {
    const key = keyOf(call);
    const calls = pending.get(key);
    const requests = (calls?.get(call.callId) ?? 0) - 1;
    if (requests > 0) calls?.set(call.callId, requests);
    else if (calls?.delete(call.callId) === true && call.mode === 'test') testCalls -= 1;
    if (calls?.size === 0) pending.delete(key);
  }

  return {
    /**
     * Whether the process has a place for a call now: always for a live one and for one that waits already. An account has
     * fewer places for test calls the fewer are free, and none while it is another one's turn.
     */
    hasRoom(call: PendingCall): boolean {
      const key = keyOf(call);
      if (call.mode === 'live' || pending.get(key)?.has(call.callId) === true) return true;
      return hasShare(key) && isItsTurn(key);
    },

    /** How many calls of its account and mode are undecided. */
    undecidedOf: (call: PendingCall) => countOf(keyOf(call)),

    /**
     * Lets a call in while fewer than `limit` others of its account and mode are undecided.
     * @returns what to call once when it is decided; undefined when it is not let in
     */
    enter(call: PendingCall, limit: number): (() => void) | undefined {
      const { callId, mode } = call;
      const key = keyOf(call);
      const calls = pending.get(key) ?? new Map<string, number>();
      if (!calls.has(callId) && calls.size >= limit) return undefined;
      if (mode === 'test' && !calls.has(callId)) {
        testCalls += 1;
        noteLetIn(key);
      }
      calls.set(callId, (calls.get(callId) ?? 0) + 1);
      pending.set(key, calls);
      return () => leave(call);
    },

    /** Lets a test call have its turn among others. @returns what to call once when it waits no longer */
    wait(call: PendingCall): () => void {
      const key = keyOf(call);
      waiting.set(key, (waiting.get(key) ?? 0) + 1);
      return () => {
        const others = (waiting.get(key) ?? 0) - 1;
        if (others > 0) waiting.set(key, others);
        else waiting.delete(key);
      };
    },

    /**
     * Learns how a decision went, of a live call as well. Slow ones halve the places of test calls, down to one, and each
     * quick one adds a place: test calls keep live ones waiting where worker and Temporal have no more to give.
     * @param since when it began, on the process's monotonic clock
     */
    decided({ since, isSlow }: { since: number; isSlow: boolean }): void {
      if (!isSlow) mostTestCalls = Math.min(MOST_TEST_CALLS, mostTestCalls + 1);
      // Those that were under way together are slow for the same reason.
      else if (since >= lastCutAt) {
        mostTestCalls = Math.max(1, Math.floor(mostTestCalls / 2));
        lastCutAt = performance.now();
      }
    },
  };
}
