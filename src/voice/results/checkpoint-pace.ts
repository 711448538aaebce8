/** What a process that dies takes with it of a transcript. */
const CHECKPOINT_EVERY_MS = 2_000;

/**
 * When checkpoints are written: every few seconds, or at once when the news does not wait.
 * @param wake is called when one is due that was not before
 */
export function createCheckpointPace(wake: () => void) {
  let urgent = false;
  /** Of `performance.now()`. */
  let nextAt = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    hurry(): void {
      urgent = true;
    },

    isDue: (): boolean => urgent || performance.now() >= nextAt,

    /** Writes one; news that hurries meanwhile is due afterwards, and so is this when it fails. */
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

    /** Wakes when the next one is due. */
    wait(): void {
      clearTimeout(timer);
      timer = setTimeout(wake, Math.max(1, nextAt - performance.now())).unref();
    },

    stop: (): void => clearTimeout(timer),
  };
}
