import type { ServerResponse } from 'node:http';
import type { Mode } from '../../../kernel/ids.js';

/** A recording plays at 32 kB a second: whoever reads less than half of that for so long makes others wait for nothing. */
const SLOW_BYTES_PER_SECOND = 16_000;
const JUDGED_AFTER_MS = 10_000;
/** An account gives up a place for one that has so many fewer. */
const FAIR_DIFFERENCE = 2;

/** Whose response takes a place. */
interface Holder {
  accountId: string;
  mode: Mode;
  res: ServerResponse;
}

interface Held extends Holder {
  sinceMs: number;
  bytesBefore: number;
}

/**
 * The places of one process for responses that take long, of all accounts together. When all are taken, one that is read more
 * slowly than it plays, or one of an account that has several, is cut off for whoever comes: few accounts never keep others out.
 */
export function createProcessPlaces(now: () => number = Date.now) {
  const places = new Set<Held>();

  const bytesPerSecond = ({ res, bytesBefore, sinceMs }: Held) =>
    ((bytesSent(res) - bytesBefore) * 1_000) / Math.max(1, now() - sinceMs);
  const isSlow = (place: Held) =>
    now() - place.sinceMs >= JUDGED_AFTER_MS && bytesPerSecond(place) < SLOW_BYTES_PER_SECOND;
  const held = (accountId: string) => Array.from(places).filter((place) => place.accountId === accountId).length;

  /** The place that its holder loses to one who comes; test calls take none from live ones. */
  function loser({ accountId, mode }: Holder): Held | undefined {
    const own = held(accountId);
    const candidates = Array.from(places)
      .filter((place) => mode === 'live' || place.mode === 'test')
      .map((place) => ({ place, slow: isSlow(place), of: held(place.accountId), rate: bytesPerSecond(place) }))
      .filter(({ slow, of }) => slow || of >= own + FAIR_DIFFERENCE)
      .toSorted((a, b) => Number(b.slow) - Number(a.slow) || b.of - a.of || a.rate - b.rate);
    return candidates[0]?.place;
  }

  return {
    /** @returns what gives the place back; undefined when all `most` are taken, and none is given up */
    take(holder: Holder, most: number): (() => void) | undefined {
      if (places.size >= most) {
        const lost = loser(holder);
        if (lost === undefined) return undefined;
        places.delete(lost);
        lost.res.destroy();
      }
      const place = { ...holder, sinceMs: now(), bytesBefore: bytesSent(holder.res) };
      places.add(place);
      return () => void places.delete(place);
    },
  };
}

/** On its connection, what waits in this process left out. */
function bytesSent({ socket }: ServerResponse): number {
  return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
}
