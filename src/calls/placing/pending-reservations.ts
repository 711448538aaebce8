import type { Mode } from '../../kernel/ids.js';

export interface PendingCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

export type PendingReservations = ReturnType<typeof createPendingReservations>;

/** The calls of each account that this process has asked for and that are not decided yet. */
export function createPendingReservations() {
  /** Requests per call, by account and mode: repeats of a request wait for the same call. */
  const pending = new Map<string, Map<string, number>>();

  function leave(key: string, callId: string): void {
    const calls = pending.get(key);
    const requests = (calls?.get(callId) ?? 0) - 1;
    if (requests > 0) calls?.set(callId, requests);
    else calls?.delete(callId);
    if (calls?.size === 0) pending.delete(key);
  }

  return {
    /**
     * Lets a call in while fewer than `limit` others of its account and mode are undecided.
     * @returns what to call once when it is decided; undefined when it is not let in
     */
    enter({ accountId, mode, callId }: PendingCall, limit: number): (() => void) | undefined {
      const key = `${accountId}~${mode}`;
      const calls = pending.get(key) ?? new Map<string, number>();
      if (!calls.has(callId) && calls.size >= limit) return undefined;
      calls.set(callId, (calls.get(callId) ?? 0) + 1);
      pending.set(key, calls);
      return () => leave(key, callId);
    },
  };
}
