import type { ServerResponse } from 'node:http';
import type { Mode } from '../../../kernel/ids.js';

/** Below half the playback rate of 32 kB per second, a reader is slow and may lose its slot to others. */
const SLOW_BYTES_PER_SECOND = 16_000;
const JUDGED_AFTER_MS = 10_000;
/** An account can lose a slot to one that holds at least this many fewer. */
const FAIR_DIFFERENCE = 2;

/** The response that occupies a slot, and its account. */
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
 * Limits long responses of all accounts in one process. At the limit, a response that is read at less than half its
 * playback rate, or one of an account with several, is cut off for a new one, so that a few accounts cannot keep others
 * out.
 */
export function createProcessPlaces(now: () => number = Date.now) {
  const places = new Set<Held>();

  const bytesPerSecond = ({ res, bytesBefore, sinceMs }: Held) =>
    ((bytesSent(res) - bytesBefore) * 1_000) / Math.max(1, now() - sinceMs);
  const isSlow = (place: Held) =>
    now() - place.sinceMs >= JUDGED_AFTER_MS && bytesPerSecond(place) < SLOW_BYTES_PER_SECOND;
  const held = (accountId: string) => Array.from(places).filter((place) => place.accountId === accountId).length;

  /** Selects the response to cut off for a new one; test calls do not displace live ones. */
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
    /** @returns a function that frees the slot; undefined if all `most` are taken and none can be freed */
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

/** Bytes that have left this process on the response's connection. */
function bytesSent({ socket }: ServerResponse): number {
  return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
}
