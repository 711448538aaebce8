import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../identity/access/principal.js';
import type { CallQueries, CallStanding } from '../call-queries.js';
import { createWatcherCounts } from './watcher-counts.js';

/** How often the read model is looked at: soon at first, since an end that needs no carrier is there at once. */
const LOOK_AFTER_MS = [25, 50, 100, 200];
const LOOK_EVERY_MS = 300;
/** So many looks later than the first one begins again with somebody who comes later: each look is shared. */
const LOOKS_OF_LATER = 2;
/** In each mode. */
const WAITING_PER_ACCOUNT = 20;

interface Waiting {
  callId: string;
  /** The latest that is known. */
  standing: CallStanding;
  wanted: (call: CallStanding) => boolean;
  tell: () => void;
}

export type CallAwaits = ReturnType<typeof createCallAwaits>;

/** Requests that wait for calls to become what they want: one look for all of them, however many there are. */
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
      // While the database is away, each waits until its own time is over.
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
     * Takes a place among the requests of the account that wait.
     * @returns what gives it back
     * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
     */
    enter: ({ account, mode }: Principal) => counts.enter(`${account._id} ${mode}`),

    /**
     * The call as soon as it is as wanted; as it was seen last when the time is over.
     * @param call as it was found, for the one who asks
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
