import { FRAME_MS } from '../../../voice/audio/frame.js';

/** So many frames at most are made up for after the process was held up. */
const MAX_FRAMES_AT_ONCE = 50;

export interface Ticker {
  /** Calls `onFrame` once for every 20 ms of real time. @returns a function that stops it */
  add(onFrame: () => void): () => void;
}

/** One clock for all lines: a timer of its own for each call would drift, each differently. */
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
      // The clock stops by itself at the next frame when nobody is left.
      return () => void listeners.delete(onFrame);
    },
  };
}
