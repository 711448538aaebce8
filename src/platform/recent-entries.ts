/** Values that a process has read or written recently. Another process, or this one later, reads them again. */
export type RecentEntries<T> = ReturnType<typeof createRecentEntries<T>>;

/**
 * Creates a bounded store of recent values, each for a limited time. Only for values that never change, or whose users
 * check them when they write.
 * @param p.maxEntries the oldest entry makes room for a new one
 * @param p.now monotonic clock in ms
 */
export function createRecentEntries<T>(p: { maxEntries: number; maxAgeMs: number; now?: () => number }) {
  const { maxEntries, maxAgeMs, now = () => performance.now() } = p;
  const entries = new Map<string, { value: T; until: number }>();
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key);
      if (entry === undefined || entry.until > now()) return entry?.value;
      entries.delete(key);
      return undefined;
    },

    set(key: string, value: T): void {
      entries.delete(key);
      entries.set(key, { value, until: now() + maxAgeMs });
      for (const [oldest, { until }] of entries) {
        if (until > now() && entries.size <= maxEntries) return;
        entries.delete(oldest);
      }
    },

    delete: (key: string): void => void entries.delete(key),
  };
}
