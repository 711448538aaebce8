import { ServiceError } from '../../kernel/errors.js';

export interface WatcherCounts {
  /**
   * Counts one more watcher.
   * @param watcher account and mode of the watcher
   * @returns function to call when the watcher has left
   * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
   */
  enter(watcher: string): () => void;
}

/** Maximum watchers of one account in one mode. */
const WATCHERS_PER_ACCOUNT = 20;

/** Limits each account's long-running requests in this process, such as open event streams. */
export function createWatcherCounts({
  max = WATCHERS_PER_ACCOUNT,
  limitMessage = (current: number) => `The account already watches ${current} calls. Close one of the event streams.`,
} = {}): WatcherCounts {
  const watchers = new Map<string, number>();
  return {
    enter(watcher) {
      const current = watchers.get(watcher) ?? 0;
      if (current >= max) {
        throw new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', limitMessage(current), { limit: max, current });
      }
      watchers.set(watcher, current + 1);
      return () => {
        const left = (watchers.get(watcher) ?? 1) - 1;
        if (left > 0) watchers.set(watcher, left);
        else watchers.delete(watcher);
      };
    },
  };
}
