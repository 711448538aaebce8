/** The most transcript, in ms, that is lost if a process dies. */
const CHECKPOINT_EVERY_MS = 2_000;

/**
 * Decides when to write checkpoints: every two seconds, or at once after `hurry`.
 * @param wake called when the next checkpoint becomes due
 */
export function createCheckpointPace(wake: () => void) {
  let urgent = false;
  /** On the clock of `performance.now()`. */
  let nextAt = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    hurry(): void {
      urgent = true;
    },

    isDue: (): boolean => urgent || performance.now() >= nextAt,

    /** Runs a write. A `hurry` during it makes another write due; if an urgent write fails, it stays due. */
    async keepTo<T>(write: () => Promise<T>): Promise<T> {
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
