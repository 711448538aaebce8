import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../identity/access/principal.js';
import type { CallQueries, CallStanding } from '../call-queries.js';
import { createWatcherCounts } from './watcher-counts.js';

/** Pauses between reads of the read model: short at first, because an end without the carrier takes effect at once. */
const LOOK_AFTER_MS = [25, 50, 100, 200];
const LOOK_EVERY_MS = 300;
/** A new request sets the polling back to this step, not to the first: one query serves all waiting requests. */
const LOOKS_OF_LATER = 2;
/** Waiting requests of one account in one mode. */
const WAITING_PER_ACCOUNT = 20;

interface Waiting {
  callId: string;
  /** The call as last read. */
  standing: CallStanding;
  wanted: (call: CallStanding) => boolean;
  tell: () => void;
}

export type CallAwaits = ReturnType<typeof createCallAwaits>;

/** Lets requests wait until a call reaches a condition. One query serves all waiting requests of the process. */
export function createCallAwaits({ queries }: { queries: CallQueries }) {
  const counts = createWatcherCounts({
    most: WAITING_PER_ACCOUNT,
    told: (current) => `The account waits for the end of calls in ${current} requests already. Try again in a moment.`,
  });
  const all = new Set<Waiting>();
  let looks = 0;
  let isLooking = false;

  async function look(): Promise<void> {
    isLooking = true;
    for (looks = 0; all.size > 0; looks++) {
      await sleep(LOOK_AFTER_MS[looks] ?? LOOK_EVERY_MS);
      const ids = new Set(Array.from(all, ({ callId }) => callId));
      // While the database is unavailable, each request waits until its own deadline.
      const found = await queries.standing([...ids]).catch(() => new Map<string, CallStanding>());
      for (const each of all) {
        each.standing = found.get(each.callId) ?? each.standing;
        if (each.wanted(each.standing)) each.tell();
      }
    }
    isLooking = false;
  }

  return {
    /**
     * Counts a request among the account's waiting ones.
     * @returns function that ends the count
     * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
     */
    enter: ({ account, mode }: Principal) => counts.enter(`${account._id} ${mode}`),

    /**
     * Waits until the call satisfies `wanted`; at the deadline, returns it as last read.
     * @param call as the request has read it, already checked for its account
     * @param deadline ms since the epoch
     */
    async until(call: CallStanding, deadline: number, wanted: (call: CallStanding) => boolean): Promise<CallStanding> {
      if (wanted(call)) return call;
      const over = new AbortController();
      const waiting = { callId: call._id, standing: call, wanted, tell: () => over.abort() };
      all.add(waiting);
      looks = Math.min(looks, LOOKS_OF_LATER);
      if (!isLooking) void look();
      await sleep(Math.max(0, deadline - Date.now()), undefined, { signal: over.signal }).catch(() => undefined);
      all.delete(waiting);
      return waiting.standing;
    },
  };
}
