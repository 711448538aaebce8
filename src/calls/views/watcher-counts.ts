import { ServiceError } from '../../kernel/errors.js';

export interface WatcherCounts {
  /**
   * Counts one more watcher.
   * @param watcher account and mode of the watcher
   * @returns function that ends the count
   * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
   */
  enter(watcher: string): () => void;
}

/** Watchers of one account in one mode. */
const WATCHERS_PER_ACCOUNT = 20;

/** Limits each account's long-running requests in this process, such as open event streams. */
export function createWatcherCounts({
  most = WATCHERS_PER_ACCOUNT,
  told = (current: number) => `The account watches ${current} calls already.`,
} = {}): WatcherCounts {
  const watchers = new Map<string, number>();
  return {
    enter(watcher) {
      const current = watchers.get(watcher) ?? 0;
      if (current >= most) {
        throw new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', told(current), { limit: most, current });
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
