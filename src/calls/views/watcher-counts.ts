import { ServiceError } from '../../kernel/errors.js';

export interface WatcherCounts {
  /**
   * Counts a watcher in.
   * @returns a function that counts it out
   * @throws ServiceError when the account has as many as it may have
   */
  enter(watcher: string): () => void;
}

/** In each mode. */
const WATCHERS_PER_ACCOUNT = 20;

/** How many streams of events each account has open in this process, or other requests that last. */
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
