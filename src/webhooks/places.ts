/** Posts under way at once in this process: well below the activities a worker runs at once, so that other work goes on. */
const PLACES = 64;
/** Of them for one receiver. */
const PLACES_OF_RECEIVER = 8;
/** How soon, and how late at most, one that found no place asks again. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
/** What a post takes until posts to its receiver have told: little, or a burst to a quick one would wait for nothing. */
const PRESUMED_MS = 100;
/** Receivers of whom it is remembered how long they take. */
const MOST_REMEMBERED = 1_000;

interface Lane {
  /** Posts under way, the oldest first. */
  running: Set<{ since: number }>;
  /** How long its posts take, as the last ones tell. */
  usualMs: number;
  /** When the next one that is turned away shall ask again. */
  turnAt: number;
}

export type Place = { giveBack(): void } | { afterMs: number };

export interface Places {
  /** When there is none for the receiver now: in how many ms to ask again. */
  waitFor(receiver: string): number | undefined;
  /** A place for one post to the receiver; or when to ask for one again, in ms. */
  take(receiver: string): Place;
}

/**
 * Places for posts, so that receivers that take their 5 s hold up nobody else: a receiver has at most eight of them, and
 * fewer the fewer are left. It gets another one only while it has less than a quarter of those that are free.
 */
export function createPlaces({ total = PLACES, each = PLACES_OF_RECEIVER } = {}): Places {
  const lanes = new Map<string, Lane>();
  let taken = 0;

  function laneOf(receiver: string): Lane {
    const lane = lanes.get(receiver) ?? { running: new Set(), usualMs: PRESUMED_MS, turnAt: 0 };
    // Those used last stand last.
    lanes.delete(receiver);
    lanes.set(receiver, lane);
    if (lanes.size > MOST_REMEMBERED) forgetOldest();
    return lane;
  }

  function forgetOldest(): void {
    for (const [receiver, { running }] of lanes) {
      if (running.size === 0) {
        lanes.delete(receiver);
        return;
      }
    }
  }

  /** One behind the other, as fast as places become free: all of them at once would only be turned away again. */
  function turnOf(lane: Lane): number {
    const now = performance.now();
    const [oldest] = lane.running;
    const takesMs = Math.max(lane.usualMs, now - (oldest?.since ?? now));
    lane.turnAt = Math.min(Math.max(lane.turnAt, now) + takesMs / each, now + LATEST_MS);
    return Math.max(SOONEST_MS, Math.round(lane.turnAt - now));
  }

  function waitIn(lane: Lane): number | undefined {
    return lane.running.size >= Math.min(each, (total - taken) / 4) ? turnOf(lane) : undefined;
  }

  return {
    waitFor: (receiver) => waitIn(laneOf(receiver)),
    take(receiver) {
      const lane = laneOf(receiver);
      const afterMs = waitIn(lane);
      if (afterMs !== undefined) return { afterMs };
      const post = { since: performance.now() };
      lane.running.add(post);
      taken += 1;
      return {
        giveBack() {
          lane.running.delete(post);
          taken -= 1;
          lane.usualMs = lane.usualMs * 0.75 + (performance.now() - post.since) * 0.25;
        },
      };
    },
  };
}
