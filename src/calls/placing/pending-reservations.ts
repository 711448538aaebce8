import type { Mode } from '../../kernel/ids.js';

export interface PendingCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

export type PendingReservations = ReturnType<typeof createPendingReservations>;

/**
 * Maximum pending test calls per process. A pending call is requested, but neither accepted nor rejected yet. The limit
 * is half of the workflow tasks that a worker runs at once by default. Test calls are free, so they must leave capacity
 * for live calls.
 */
const MAX_TEST_CALLS = 20;
/** Maximum pending test calls of one account per process. */
export const TEST_CALLS_PER_ACCOUNT = 5;
/** An account may have another pending test call while it uses less than this share of the free capacity. */
const CAPACITY_SHARE = 1 / 2;
/** For this long after an account was served, waiting accounts that were served longer ago go first. */
const YIELD_MS = 5_000;

/** Counts the calls in this process that are neither accepted nor rejected yet, and limits them per account. */
export function createPendingReservations() {
  let testCalls = 0;
  let testCallCapacity = MAX_TEST_CALLS;
  let lastCutAt = 0;
  /** Number of requests per pending call, by account and mode. Repeats of a request wait for the same call. */
  const pending = new Map<string, Map<string, number>>();
  /** Number of waiting test calls, by account. */
  const waiting = new Map<string, number>();
  /** When each account was last served, oldest first. */
  const enteredAt = new Map<string, number>();

  const keyOf = ({ accountId, mode }: PendingCall) => `${accountId}~${mode}`;
  const countOf = (key: string) => pending.get(key)?.size ?? 0;

  const hasShare = (key: string) => countOf(key) < (testCallCapacity - testCalls) * CAPACITY_SHARE;

  /** Whether this account is next: no other waiting account with free capacity was served longer ago. */
  function isNextAccount(key: string): boolean {
    const own = enteredAt.get(key) ?? 0;
    for (const other of waiting.keys()) {
      const couldEnter = countOf(other) < TEST_CALLS_PER_ACCOUNT && hasShare(other);
      if (other !== key && couldEnter && (enteredAt.get(other) ?? 0) < own) return false;
    }
    return true;
  }

  function recordEntry(key: string): void {
    const now = performance.now();
    enteredAt.delete(key);
    enteredAt.set(key, now);
    for (const [oldest, at] of enteredAt) {
      if (now - at < YIELD_MS) return;
      enteredAt.delete(oldest);
    }
  }

  function removeRequest(call: PendingCall): void {
    const key = keyOf(call);
    const calls = pending.get(key);
    const requests = (calls?.get(call.callId) ?? 0) - 1;
    if (requests > 0) calls?.set(call.callId, requests);
    else if (calls?.delete(call.callId) === true && call.mode === 'test') testCalls -= 1;
    if (calls?.size === 0) pending.delete(key);
  }

  return {
    /**
     * Whether the process has capacity for a call now. Always true for a live call, and for a repeat of a pending call.
     * An account's test calls are limited to a share of the free capacity, and let accounts that were served longer ago
     * go first.
     */
    hasCapacity(call: PendingCall): boolean {
      const key = keyOf(call);
      if (call.mode === 'live' || pending.get(key)?.has(call.callId) === true) return true;
      return hasShare(key) && isNextAccount(key);
    },

    /** Number of pending calls of the call's account and mode. */
    countUndecided: (call: PendingCall) => countOf(keyOf(call)),

    /**
     * Adds a call to the pending ones, unless its account has `limit` other pending calls in this mode.
     * @returns function to call once when the call is accepted or rejected; undefined if the limit is reached
     */
    enter(call: PendingCall, limit: number): (() => void) | undefined {
      const { callId, mode } = call;
      const key = keyOf(call);
      const calls = pending.get(key) ?? new Map<string, number>();
      if (!calls.has(callId) && calls.size >= limit) return undefined;
      if (mode === 'test' && !calls.has(callId)) {
        testCalls += 1;
        recordEntry(key);
      }
      calls.set(callId, (calls.get(callId) ?? 0) + 1);
      pending.set(key, calls);
      return () => removeRequest(call);
    },

    /** Registers a test call that waits for capacity. @returns function to call once when it stops waiting */
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
     * Records how long the decision about a live or test call took. A slow decision halves the capacity for test calls,
     * down to one; a quick one adds one. Otherwise test calls would delay live ones when a worker or Temporal is
     * overloaded.
     * @param since start of the decision, in ms of `performance.now()`
     */
    recordDecision({ since, isSlow }: { since: number; isSlow: boolean }): void {
      if (!isSlow) testCallCapacity = Math.min(MAX_TEST_CALLS, testCallCapacity + 1);
      // Decisions that started before the last reduction were slow for the same reason, so they cause no further one.
      else if (since >= lastCutAt) {
        testCallCapacity = Math.max(1, Math.floor(testCallCapacity / 2));
        lastCutAt = performance.now();
      }
    },
  };
}
