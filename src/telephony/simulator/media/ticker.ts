import { FRAME_MS } from '../../../voice/audio/frame.js';

/** Maximum number of frames to catch up on after the process was blocked. */
const MAX_FRAMES_AT_ONCE = 50;

export interface Ticker {
  /**
   * Calls `onFrame` once per 20 ms of real time.
   * @returns a function that stops the calls
   */
  add(onFrame: () => void): () => void;
}

/** One timer for all audio lines, because separate timers per call would drift apart. */
export function createTicker(): Ticker {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let startedAt = 0;
  let framesDone = 0;

  function run(): void {
    const due = Math.floor((performance.now() - startedAt) / FRAME_MS);
    framesDone = Math.max(framesDone, due - MAX_FRAMES_AT_ONCE);
    for (; framesDone < due; framesDone++) for (const listener of listeners) listener();
    schedule();
  }

  function schedule(): void {
    if (listeners.size === 0) {
      timer = undefined;
      return;
    }
    const nextAt = startedAt + (framesDone + 1) * FRAME_MS;
    timer = setTimeout(run, Math.max(1, nextAt - performance.now()));
  }

  return {
    add(onFrame) {
      listeners.add(onFrame);
      if (timer === undefined) {
        startedAt = performance.now();
        framesDone = 0;
        schedule();
      }
      // When no listeners are left, the timer stops at its next frame.
      return () => void listeners.delete(onFrame);
    },
  };
}
