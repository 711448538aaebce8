import type { Mode } from '../../kernel/ids.js';

export interface PendingCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

export type PendingReservations = ReturnType<typeof createPendingReservations>;

/**
 * Maximum undecided test calls per process, for all accounts together: half of the workflow tasks that a worker runs at
 * once by default. Test calls are free, and must leave capacity for live calls.
 */
const MOST_TEST_CALLS = 20;
/** The same for one account. */
export const TEST_CALLS_OF_ACCOUNT = 5;
/** An account may have another undecided test call while it has fewer than this share of the free capacity. */
const SHARE = 1 / 2;
/** How long an account that was served yields to waiting accounts served earlier. */
const REMEMBERED_MS = 5_000;

/** Limits each account's undecided calls in this process. */
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

  /** Whether no other waiting account that could enter was served longer ago. */
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
     * Whether the process has capacity for a call now. Always true for a live call, and for a repeat of a pending one.
     * Test calls of an account are limited to a share of the free capacity, and yield to accounts served longer ago.
     */
    hasRoom(call: PendingCall): boolean {
      const key = keyOf(call);
      if (call.mode === 'live' || pending.get(key)?.has(call.callId) === true) return true;
      return hasShare(key) && isItsTurn(key);
    },

    /** Number of undecided calls of the call's account and mode. */
    undecidedOf: (call: PendingCall) => countOf(keyOf(call)),

    /**
     * Adds a call, unless `limit` others of its account and mode are undecided.
     * @returns function to call once when the call is decided; undefined if the limit is reached
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

    /** Registers a waiting test call. @returns function to call once when it stops waiting */
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
     * Reports how long a decision took, of a live or a test call. A slow one halves the capacity for test calls, down
     * to one; a quick one adds one: on an overloaded worker or Temporal, test calls would delay live ones.
     * @param since start of the decision, in ms of `performance.now()`
     */
    decided({ since, isSlow }: { since: number; isSlow: boolean }): void {
      if (!isSlow) mostTestCalls = Math.min(MOST_TEST_CALLS, mostTestCalls + 1);
      // Decisions that started before the last cut were slow for the same reason, so they cause no further cut.
      else if (since >= lastCutAt) {
        mostTestCalls = Math.max(1, Math.floor(mostTestCalls / 2));
        lastCutAt = performance.now();
      }
    },
  };
}
