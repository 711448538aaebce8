import type { Mode } from '../../kernel/ids.js';

/**
 * Default limits of concurrent requests in this process, used for webhooks. The total is well below the number of
 * activities that a worker runs at once, so that other work continues.
 */
const PLACES = 64;
/** Of these, for one receiver, and for all receivers of one account. */
const PLACES_OF_RECEIVER = 8;
const PLACES_OF_ACCOUNT = 16;
/** Of these, for test calls of all accounts. Test calls are free, and must leave room for live ones. */
const PLACES_OF_TEST = 32;
/** Minimum and maximum delay before a rejected request is retried. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
/**
 * Assumed duration until a request to the receiver has finished: short, so that a burst to a fast one does not wait.
 */
const PRESUMED_MS = 100;
/** Maximum receivers and accounts whose limits and durations are kept in memory. */
const MOST_REMEMBERED = 1_000;

/** The server that a request of an account goes to. */
export interface Receiver {
  accountId: string;
  host: string;
  /** Mode of the call that the request is about; live by default. */
  mode?: Mode;
}

/** Requests in progress to one receiver, or to all receivers of one account. */
interface Lane {
  /** Maximum concurrent requests. */
  most: number;
  /** Accepts another request only while it holds less than this share of the free slots. */
  share: number;
  /** Requests in progress, oldest first. */
  running: Set<{ since: number }>;
  /** Moving average of the duration of its requests. */
  usualMs: number;
  /** When the next rejected request should be retried. */
  turnAt: number;
}

/** A slot, to be freed after use; or the time after which to retry, in ms. */
export type Place = { giveBack(): void } | { afterMs: number };

/** A bulkhead; see `createPlaces`. */
export interface ReceiverPlaces {
  /** How long to wait for a slot, in ms; undefined if one is free now. */
  waitFor(receiver: Receiver): number | undefined;
  /** Takes a slot for one request, or returns after how many ms to retry. */
  take(receiver: Receiver): Place;
}

/**
 * Creates a bulkhead for requests, so that receivers that use their full timeout do not delay others. A receiver has at
 * most 8 of 64 slots, an account 16 and test calls 32; receivers and accounts have fewer when few slots are left.
 */
export function createPlaces({
  total = PLACES,
  each = PLACES_OF_RECEIVER,
  ofAccount = PLACES_OF_ACCOUNT,
  ofTest = PLACES_OF_TEST,
} = {}): ReceiverPlaces {
  const lanes = new Map<string, Lane>();
  let taken = 0;
  let takenOfTest = 0;

  function lanesOf({ accountId, host }: Receiver): Lane[] {
    return [laneOf(`${accountId} ${host}`, each, 1 / 4), laneOf(accountId, ofAccount, 1 / 2)];
  }

  function laneOf(key: string, most: number, share: number): Lane {
    const lane = lanes.get(key) ?? { most, share, running: new Set(), usualMs: PRESUMED_MS, turnAt: 0 };
    // Keep the most recently used last.
    lanes.delete(key);
    lanes.set(key, lane);
    if (lanes.size > MOST_REMEMBERED) forgetOldest();
    return lane;
  }

  function forgetOldest(): void {
    for (const [key, { running }] of lanes) {
      if (running.size === 0) {
        lanes.delete(key);
        return;
      }
    }
  }

  /**
   * Spreads the retries of rejected requests by how fast slots become free: all at once would only be rejected again.
   */
  function turnOf(lane: Lane): number {
    const now = performance.now();
    const [oldest] = lane.running;
    const takesMs = Math.max(lane.usualMs, now - (oldest?.since ?? now));
    lane.turnAt = Math.min(Math.max(lane.turnAt, now) + takesMs / lane.most, now + LATEST_MS);
    return Math.max(SOONEST_MS, Math.round(lane.turnAt - now));
  }

  function waitIn(both: readonly Lane[], isOfTest: boolean): number | undefined {
    const free = Math.min(total - taken, isOfTest ? ofTest - takenOfTest : total);
    const full = both.filter(({ running, most, share }) => running.size >= Math.min(most, free * share));
    return full.length === 0 ? undefined : Math.max(...full.map(turnOf));
  }

  return {
    waitFor: (receiver) => waitIn(lanesOf(receiver), receiver.mode === 'test'),
    take(receiver) {
      const both = lanesOf(receiver);
      const isOfTest = receiver.mode === 'test';
      const afterMs = waitIn(both, isOfTest);
      if (afterMs !== undefined) return { afterMs };
      const post = { since: performance.now() };
      for (const lane of both) lane.running.add(post);
      taken += 1;
      takenOfTest += Number(isOfTest);
      return {
        giveBack() {
          taken -= 1;
          takenOfTest -= Number(isOfTest);
          for (const lane of both) {
            lane.running.delete(post);
            lane.usualMs = lane.usualMs * 0.75 + (performance.now() - post.since) * 0.25;
          }
        },
      };
    },
  };
}
