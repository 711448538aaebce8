import { FRAME_MS } from '../audio/frame.js';
import { report } from '../../platform/telemetry/measurements.js';

/** @param dueMs when the tick was due, in whole ms of the clock, so that sums are exact */
type OnBeat = (dueMs: number) => void;

/** Ticks that were missed before are not reported as late: a process that was suspended for a day has no calls to hear it. */
const MOST_MISSED_MS = 60_000;

export interface FrameClock {
  /**
   * Calls `onBeat` every 20 ms at evenly spaced times. Missed ticks are skipped.
   * @returns a function that stops them
   */
  start(onBeat: OnBeat): () => void;
  /**
   * Runs the ticks that are due. Call it after each message from a socket, because the event loop checks timers only
   * after it has served all sockets that are ready. After a pause of the process, all sockets are ready, and serving
   * them takes several ms.
   */
  turn(): void;
}

/**
 * One clock for all calls of a process, which spreads their ticks evenly over 20 ms. Separate timers for 200 calls
 * would cost more than the work they start, and each would be late by up to 1 ms, because timers are rounded.
 * @param now current time in ms, from a monotonic clock
 */
export function createFrameClock(now: () => number = () => performance.now()): FrameClock {
  const slots = Array.from({ length: FRAME_MS }, () => new Set<OnBeat>());
  let count = 0;
  /** The first millisecond whose ticks have not run. */
  let nextMs = 0;
  /** How late the latest tick was since the last report. */
  let lateMs = 0;
  let timer: NodeJS.Timeout | undefined;

  function slotAt(ms: number): Set<OnBeat> {
    return slots[ms % FRAME_MS] as Set<OnBeat>;
  }

  function turn(): void {
    if (count === 0) return;
    const nowMs = now();
    if (nowMs < nextMs) return;
    skipMissed(nowMs);
    while (nextMs <= nowMs) {
      const dueMs = nextMs++;
      const slot = slotAt(dueMs);
      if (slot.size > 0) lateMs = Math.max(lateMs, nowMs - dueMs);
      if (dueMs % FRAME_MS === 0) reportLateness();
      for (const onBeat of slot) onBeat(dueMs);
    }
  }

  /** Skips ticks that are a frame late or more, and reports them: as many as one call has missed. */
  function skipMissed(nowMs: number): void {
    const resumedMs = Math.floor(nowMs) - FRAME_MS + 1;
    if (nextMs >= resumedMs) return;
    for (let ms = Math.max(nextMs, resumedMs - MOST_MISSED_MS); ms < resumedMs; ms += FRAME_MS) {
      report('frameLateness', { ms: nowMs - ms });
    }
    nextMs = resumedMs;
  }

  /** One report for the ticks of 20 ms. A report of each millisecond would cost 1 % of the processor. */
  function reportLateness(): void {
    report('frameLateness', { ms: lateMs });
    lateMs = 0;
  }

  function schedule(): void {
    // Clear the timer first: it is already set if a tick has just called `start`.
    clearTimeout(timer);
    if (count === 0) return;
    let dueMs = nextMs;
    while (slotAt(dueMs).size === 0) dueMs++;
    timer = setTimeout(
      () => {
        turn();
        schedule();
      },
      Math.max(1, Math.ceil(dueMs - now())),
    );
  }

  /** The slot with the fewest ticks among the next 20 ms. */
  function emptiestFrom(startMs: number): Set<OnBeat> {
    let best = slotAt(startMs);
    for (let ms = startMs + 1; ms < startMs + FRAME_MS; ms++) if (slotAt(ms).size < best.size) best = slotAt(ms);
    return best;
  }

  return {
    start(onBeat) {
      if (count === 0) nextMs = Math.ceil(now());
      const slot = emptiestFrom(nextMs);
      // A separate function, so that the same callback can be registered twice.
      const beat: OnBeat = (dueMs) => onBeat(dueMs);
      slot.add(beat);
      count += 1;
      schedule();
      return () => {
        if (!slot.delete(beat)) return;
        count -= 1;
        if (count === 0) clearTimeout(timer);
      };
    },
    turn,
  };
}
