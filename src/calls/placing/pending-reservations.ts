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

/** The calls of each account that this process has asked for and that are not decided yet. */
export function createPendingReservations() {
  let testCalls = 0;
  /** Requests per call, by account and mode: repeats of a request wait for the same call. */
  const pending = new Map<string, Map<string, number>>();

  const keyOf = ({ accountId, mode }: PendingCall) => `${accountId}~${mode}`;

  function leave(call: PendingCall): void {
    const key = keyOf(call);
    const calls = pending.get(key);
    const requests = (calls?.get(call.callId) ?? 0) - 1;
    if (requests > 0) calls?.set(call.callId, requests);
    else if (calls?.delete(call.callId) === true && call.mode === 'test') testCalls -= 1;
    if (calls?.size === 0) pending.delete(key);
  }

  return {
    /** Whether the process has a place for a call, whosever it is: always for a live one and for one that waits already. */
    hasRoom(call: PendingCall): boolean {
      if (call.mode === 'live' || testCalls < MOST_TEST_CALLS) return true;
      return pending.get(keyOf(call))?.has(call.callId) === true;
    },

    /**
     * Lets a call in while fewer than `limit` others of its account and mode are undecided.
     * @returns what to call once when it is decided; undefined when it is not let in
     */
    enter(call: PendingCall, limit: number): (() => void) | undefined {
      const { callId, mode } = call;
      const key = keyOf(call);
      const calls = pending.get(key) ?? new Map<string, number>();
      if (!calls.has(callId) && calls.size >= limit) return undefined;
      if (mode === 'test' && !calls.has(callId)) testCalls += 1;
      calls.set(callId, (calls.get(callId) ?? 0) + 1);
      pending.set(key, calls);
      return () => leave(call);
    },
  };
}
