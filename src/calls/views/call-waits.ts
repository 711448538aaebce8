import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../identity/access/principal.js';
import type { CallQueries, CallStatusFields } from '../call-queries.js';
import { createWatcherCounts } from './watcher-counts.js';

/**
 * Pauses between reads of the read model. They are short at first, because an end without a carrier call is immediate.
 */
const FIRST_POLLS_MS = [25, 50, 100, 200];
const POLL_INTERVAL_MS = 300;
/**
 * When a new request begins to wait, polling starts again at this index of `FIRST_POLLS_MS`. It does not start at the
 * shortest pause, because all waiting requests share one query and would be polled too often.
 */
const LATER_POLL_STEP = 2;
/** Maximum waiting requests of one key or member in one mode. Its account may have four more. */
const WAITING_REQUESTS_PER_SENDER = 20;

interface Waiting {
  callId: string;
  /** The call as last read. */
  latest: CallStatusFields;
  condition: (call: CallStatusFields) => boolean;
  resolve: () => void;
}

export type CallWaits = ReturnType<typeof createCallWaits>;

/**
 * Lets requests wait until a call reaches a condition. One query reads the calls of all waiting requests in the
 * process.
 */
export function createCallWaits({ queries }: { queries: CallQueries }) {
  const counts = createWatcherCounts({
    max: WAITING_REQUESTS_PER_SENDER,
    limitMessage: (current, whose) =>
      `The ${whose} already has ${current} requests that wait for calls to end. Try again in a moment.`,
  });
  const all = new Set<Waiting>();
  let polls = 0;
  let isPolling = false;

  async function poll(): Promise<void> {
    isPolling = true;
    for (polls = 0; all.size > 0; polls++) {
      await sleep(FIRST_POLLS_MS[polls] ?? POLL_INTERVAL_MS);
      const ids = new Set(Array.from(all, ({ callId }) => callId));
      // While the database is unavailable, each request waits until its own deadline.
      const found = await queries.readStatuses([...ids]).catch(() => new Map<string, CallStatusFields>());
      for (const each of all) {
        each.latest = found.get(each.callId) ?? each.latest;
        if (each.condition(each.latest)) each.resolve();
      }
    }
    isPolling = false;
  }

  return {
    /**
     * Counts a request as one of the account's waiting requests.
     * @returns function to call when the request stops waiting
     * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
     */
    enter: ({ account, mode, sender }: Principal) => counts.enter(`${account._id} ${mode}`, sender),

    /**
     * Waits until the call satisfies `condition`. At the deadline, returns the call as last read.
     * @param call as the request has read it, already checked for its account
     * @param deadline ms since the epoch
     */
    async until(
      call: CallStatusFields,
      deadline: number,
      condition: (call: CallStatusFields) => boolean,
    ): Promise<CallStatusFields> {
      if (condition(call)) return call;
      const over = new AbortController();
      const waiting = { callId: call._id, latest: call, condition, resolve: () => over.abort() };
      all.add(waiting);
      polls = Math.min(polls, LATER_POLL_STEP);
      if (!isPolling) void poll();
      await sleep(Math.max(0, deadline - Date.now()), undefined, { signal: over.signal }).catch(() => undefined);
      all.delete(waiting);
      return waiting.latest;
    },
  };
}
