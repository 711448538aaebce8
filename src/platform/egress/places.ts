import type { Mode } from '../../kernel/ids.js';

/**
 * Requests under way at once in this process: well below the activities a worker runs at once, so that other work goes on.
 * These and the others are those of webhooks.
 */
const PLACES = 64;
/** Of them for one receiver, and for all receivers of one account. */
const PLACES_OF_RECEIVER = 8;
const PLACES_OF_ACCOUNT = 16;
/** Of them for test calls of all accounts: these cost nothing, and live ones must find a place beside them. */
const PLACES_OF_TEST = 32;
/** How soon, and how late at most, one that found no place asks again. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
/** What a post takes until posts to its receiver have told: little, or a burst to a quick one would wait for nothing. */
const PRESUMED_MS = 100;
/** Receivers and accounts of whom it is remembered how long they take. */
const MOST_REMEMBERED = 1_000;

/** A server that a request of an account goes to. */
export interface Receiver {
  accountId: string;
  host: string;
  /** Of the call that it is about; live unless given. */
  mode?: Mode;
}

/** The posts of a receiver, or of all receivers of an account. */
interface Lane {
  /** The most posts at once. */
  most: number;
  /** It gets another one while it has less than this share of those that are free. */
  share: number;
  /** Posts under way, the oldest first. */
  running: Set<{ since: number }>;
  /** How long its posts take, as the last ones tell. */
  usualMs: number;
  /** When the next one that is turned away shall ask again. */
  turnAt: number;
}

export type Place = { giveBack(): void } | { afterMs: number };

export interface ReceiverPlaces {
  /** When there is none for the receiver now: in how many ms to ask again. */
  waitFor(receiver: Receiver): number | undefined;
  /** A place for one post to the receiver; or when to ask for one again, in ms. */
  take(receiver: Receiver): Place;
}

/**
 * Places for posts, so that receivers that take their 5 s hold up nobody else: a receiver has at most eight of them, an
 * account with any number of receivers at most 16, and both fewer the fewer are left; test calls have at most 32 of the 64.
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
    // Those used last stand last.
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

  /** One behind the other, as fast as places become free: all of them at once would only be turned away again. */
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
