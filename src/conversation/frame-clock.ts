import { FRAME_MS } from './playback.js';

/**
 * Beats every 20 ms, from now on, by a clock that does not drift: an interval timer of its own would lose some of a
 * millisecond with each beat, and the frames their even pace.
 * @param now ms, from a clock that never steps
 * @param onBeat gets the time at which the beat was due; beats that were missed are not made up for
 * @returns a function that stops it
 */
export function startFrameClock(now: () => number, onBeat: (dueMs: number) => void): () => void {
  // Whole milliseconds, so that sums of them are exact.
  let dueMs = Math.ceil(now()) + FRAME_MS;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function beat(): void {
    const missed = Math.max(0, Math.floor((now() - dueMs) / FRAME_MS));
    dueMs += missed * FRAME_MS;
    onBeat(dueMs);
    dueMs += FRAME_MS;
    schedule();
  }

  function schedule(): void {
    if (!stopped) timer = setTimeout(beat, Math.max(1, Math.ceil(dueMs - now())));
  }

  schedule();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
