/** Posts under way at once in this process: well below the activities a worker runs at once, so that other work goes on. */
const PLACES = 64;
/** Of them for one receiver. */
const PLACES_OF_RECEIVER = 8;
/** How soon, and how late at most, one that found no place asks again. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
/** What a post takes until posts to its receiver have told: little, or a burst to a quick one would wait for nothing. */
const PRESUMED_MS = 100;

interface Lane {
  taken: number;
  /** How long its posts take, as the last ones tell. */
  usualMs: number;
  /** When the next one that is turned away shall ask again. */
  turnAt: number;
}

export type Place = { giveBack(): void } | { afterMs: number };

export interface Places {
  /** A place for one post to the receiver; or when to ask for one again, in ms. */
  take(receiver: string): Place;
}

/**
 * Places for posts, so that receivers that take their 5 s hold up nobody else: a receiver has at most eight of them, and
 * fewer the fewer are left. It gets another one only while it has less than a quarter of those that are free.
 */
export function createPlaces({ total = PLACES, each = PLACES_OF_RECEIVER } = {}): Places {
  /** Only of receivers that have a place now, so that it stays small. */
  const lanes = new Map<string, Lane>();
  let taken = 0;

  function turnOf(lane: Lane): number {
    const now = performance.now();
    // One behind the other, as fast as places become free: all of them at once would only be turned away again.
    lane.turnAt = Math.min(Math.max(lane.turnAt, now) + lane.usualMs / each, now + LATEST_MS);
    return Math.max(SOONEST_MS, Math.round(lane.turnAt - now));
  }

  return {
    take(receiver) {
      const lane = lanes.get(receiver) ?? { taken: 0, usualMs: PRESUMED_MS, turnAt: 0 };
      if (lane.taken >= Math.min(each, (total - taken) / 4)) return { afterMs: turnOf(lane) };
      lanes.set(receiver, lane);
      lane.taken += 1;
      taken += 1;
      const takenAt = performance.now();
      return {
        giveBack() {
          lane.taken -= 1;
          taken -= 1;
          lane.usualMs = lane.usualMs * 0.75 + (performance.now() - takenAt) * 0.25;
          if (lane.taken === 0) lanes.delete(receiver);
        },
      };
    },
  };
}
