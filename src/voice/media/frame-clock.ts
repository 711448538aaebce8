import { FRAME_MS } from '../audio/frame.js';

/** @param dueMs when the beat was due, in whole ms of the clock, so that sums of them are exact */
type OnBeat = (dueMs: number) => void;

export interface FrameClock {
  /**
   * Beats every 20 ms from now on, on an even grid; beats that were missed are not made up for.
   * @returns a function that stops it
   */
  start(onBeat: OnBeat): () => void;
  /**
   * Lets those beat that are due. To be called between pieces of work: the event loop looks at its timers only after it
   * has served every socket that is ready, which takes some ms when a pause has made all of them ready.
   */
  turn(): void;
}

/**
 * One clock for all calls of a process, with their beats spread evenly over the 20 ms: 200 timers of their own would cost
 * more than what they are for, and would all be late by the millisecond that a timer is rounded to.
 * @param now ms, from a clock that never steps
 */
export function createFrameClock(now: () => number = () => performance.now()): FrameClock {
  const slots = Array.from({ length: FRAME_MS }, () => new Set<OnBeat>());
  let count = 0;
  /** The first millisecond whose slot has not had its turn. */
  let nextMs = 0;
  let timer: NodeJS.Timeout | undefined;

  function slotAt(ms: number): Set<OnBeat> {
    return slots[ms % FRAME_MS] as Set<OnBeat>;
  }

  function turn(): void {
    if (count === 0) return;
    const nowMs = now();
    if (nowMs < nextMs) return;
    nextMs = Math.max(nextMs, Math.floor(nowMs) - FRAME_MS + 1);
    while (nextMs <= nowMs) {
      const dueMs = nextMs++;
      for (const onBeat of slotAt(dueMs)) onBeat(dueMs);
    }
  }

  function schedule(): void {
    // A beat that started another one has set it already.
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

  /** The emptiest of the next 20 ms. */
  function emptiestFrom(startMs: number): Set<OnBeat> {
    let best = slotAt(startMs);
    for (let ms = startMs + 1; ms < startMs + FRAME_MS; ms++) if (slotAt(ms).size < best.size) best = slotAt(ms);
    return best;
  }

  return {
    start(onBeat) {
      if (count === 0) nextMs = Math.ceil(now());
      const slot = emptiestFrom(nextMs);
      // A function of its own, so that the same one may be given twice.
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
