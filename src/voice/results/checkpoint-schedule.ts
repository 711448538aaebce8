/** Interval of checkpoints, in ms. If a process dies, at most this much of the transcript is lost. */
const CHECKPOINT_EVERY_MS = 2_000;

/**
 * Decides when to write checkpoints: every two seconds, or at once after `requestNow`.
 * @param wake called when the next checkpoint becomes due
 */
export function createCheckpointSchedule(wake: () => void) {
  let urgent = false;
  /** When the next checkpoint is due, on the clock of `performance.now()`. */
  let nextAt = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    requestNow(): void {
      urgent = true;
    },

    isDue: (): boolean => urgent || performance.now() >= nextAt,

    /** Runs a write. If `requestNow` is called meanwhile, or an urgent write fails, another write is due at once. */
    async run<T>(write: () => Promise<T>): Promise<T> {
      const wasUrgent = urgent;
      urgent = false;
      try {
        const written = await write();
        nextAt = performance.now() + CHECKPOINT_EVERY_MS;
        return written;
      } catch (error) {
        urgent ||= wasUrgent;
        throw error;
      }
    },

    /** Calls `wake` when the next checkpoint is due. */
    wait(): void {
      clearTimeout(timer);
      timer = setTimeout(wake, Math.max(1, nextAt - performance.now())).unref();
    },

    stop: (): void => clearTimeout(timer),
  };
}
