import type { ServerResponse } from 'node:http';
import type { Mode } from '../../../kernel/ids.js';

/**
 * A client that reads slower than this may lose its slot to others. It is half the playback rate of 32 kB per second.
 */
const SLOW_BYTES_PER_SECOND = 16_000;
const JUDGED_AFTER_MS = 10_000;
/** An account can lose a slot to an account that has at least this many slots fewer. */
const FAIR_DIFFERENCE = 2;

/** The response that occupies a slot, and its account. */
interface Holder {
  accountId: string;
  mode: Mode;
  res: ServerResponse;
}

interface Slot extends Holder {
  sinceMs: number;
  bytesBefore: number;
}

/**
 * Limits long responses of all accounts in one process. At the limit, a new response replaces one that is read at less
 * than half its playback rate, or one of an account that has more. So a few accounts cannot block the others.
 */
export function createProcessSlots(now: () => number = Date.now) {
  const slots = new Set<Slot>();

  const bytesPerSecond = ({ res, bytesBefore, sinceMs }: Slot) =>
    ((bytesSent(res) - bytesBefore) * 1_000) / Math.max(1, now() - sinceMs);
  const isSlow = (slot: Slot) =>
    now() - slot.sinceMs >= JUDGED_AFTER_MS && bytesPerSecond(slot) < SLOW_BYTES_PER_SECOND;
  const slotsOf = (accountId: string) => Array.from(slots).filter((slot) => slot.accountId === accountId).length;

  /** Selects the response to cut off in favor of a new one. Test calls do not displace live ones. */
  function slotToTake({ accountId, mode }: Holder): Slot | undefined {
    const own = slotsOf(accountId);
    const candidates = Array.from(slots)
      .filter((slot) => mode === 'live' || slot.mode === 'test')
      .map((slot) => ({ slot, slow: isSlow(slot), of: slotsOf(slot.accountId), rate: bytesPerSecond(slot) }))
      .filter(({ slow, of }) => slow || of >= own + FAIR_DIFFERENCE)
      .toSorted((a, b) => Number(b.slow) - Number(a.slow) || b.of - a.of || a.rate - b.rate);
    return candidates[0]?.slot;
  }

  return {
    /** @returns a function that frees the slot; undefined if all `max` are taken and none can be freed */
    acquire(holder: Holder, max: number): (() => void) | undefined {
      if (slots.size >= max) {
        const taken = slotToTake(holder);
        if (taken === undefined) return undefined;
        slots.delete(taken);
        taken.res.destroy();
      }
      const slot = { ...holder, sinceMs: now(), bytesBefore: bytesSent(holder.res) };
      slots.add(slot);
      return () => void slots.delete(slot);
    },
  };
}

/** Bytes that have left this process on the response's connection. */
function bytesSent({ socket }: ServerResponse): number {
  return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
}
