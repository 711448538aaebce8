import { ServiceError } from '../../kernel/errors.js';

export interface WatcherCounts {
  /**
   * Counts one more watcher.
   * @param watcher account and mode of the watcher
   * @param sender its key or member
   * @returns function to call when the watcher has left
   * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED
   */
  enter(watcher: string, sender: string): () => void;
}

/** Maximum watchers of one key or member in one mode. */
const WATCHERS_PER_SENDER = 20;
/** How many more watchers its account may have, so that one sender does not use up those of the others. */
const WATCHERS_OF_OTHERS = 4;

/** The owner of a limit. */
type Owner = 'key or member' | 'account';

/** Limits long-running requests in this process, such as open event streams, by account and by sender. */
export function createWatcherCounts({
  max = WATCHERS_PER_SENDER,
  limitMessage = (current: number, whose: Owner) =>
    `The ${whose} already watches ${current} calls. Close one of the event streams.`,
} = {}): WatcherCounts {
  const watchers = new Map<string, number>();
  function add(counted: string, change: 1 | -1): void {
    const count = (watchers.get(counted) ?? 0) + change;
    if (count > 0) watchers.set(counted, count);
    else watchers.delete(counted);
  }

  return {
    enter(watcher, sender) {
      const ofSender = `${watcher} ${sender}`;
      const limits = [
        [ofSender, max, 'key or member'],
        [watcher, max + WATCHERS_OF_OTHERS, 'account'],
      ] as const;
      for (const [counted, limit, whose] of limits) {
        const current = watchers.get(counted) ?? 0;
        if (current >= limit) {
          throw new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', limitMessage(current, whose), { limit, current });
        }
      }
      for (const [counted] of limits) add(counted, 1);
      return () => {
        for (const [counted] of limits) add(counted, -1);
      };
    },
  };
}
