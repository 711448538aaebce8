/** How long a successful poll lets entries count, from its beginning. A change applies everywhere within this time. */
const FRESH_MS = 1_000;
/** Minimum time between the beginnings of two polls. */
const POLL_EVERY_MS = 400;
/**
 * Maximum age of an entry. Polls find every change that was completed; this bounds those whose process died between the
 * change and the new epoch, and changes that somebody makes in the database by hand.
 */
const MAX_AGE_MS = 10_000;
/** Maximum entries. An entry has a few kilobytes, or some 20 if an operator gave the account its own destination rules. */
const MAX_ENTRIES = 5_000;

export interface CredentialCacheOptions {
  /** Reads the current epoch from the database; null before the first change. */
  readEpoch: () => Promise<string | null>;
  /** A monotonic clock, in ms. */
  now?: () => number;
  maxEntries?: number;
}

/** Says when a read of the database began, so that only a result that is still current is cached. */
export interface ReadTicket {
  generation: number;
  beganAt: number;
}

interface Entry<T> extends ReadTicket {
  value: T;
}

export type CredentialCache<T> = ReturnType<typeof createCredentialCache<T>>;

/**
 * Keeps results of reads in memory while it is certain that they were current less than a second ago. Every change sets
 * a new epoch in the database after it was made. A poll of the epoch that finds a new one drops all entries. An entry
 * counts only if the last successful poll began less than a second ago. docs/adr/0041-cached-credentials.md explains
 * why no entry can survive a change.
 */
export function createCredentialCache<T>(options: CredentialCacheOptions) {
  const { readEpoch, now = () => performance.now(), maxEntries = MAX_ENTRIES } = options;
  const entries = new Map<string, Entry<T>>();
  /** Grows when entries are dropped. Results of reads that began in an earlier generation are not cached. */
  let generation = 0;
  /** The epoch that the last successful poll read; undefined before the first. */
  let epoch: string | null | undefined;
  let confirmedAt = -Infinity;
  let pollBeganAt = -Infinity;
  let isPolling = false;

  function dropAll(): void {
    generation += 1;
    entries.clear();
  }

  async function poll(beganAt: number): Promise<void> {
    isPolling = true;
    pollBeganAt = beganAt;
    try {
      const found = await readEpoch();
      if (found !== epoch) dropAll();
      epoch = found;
      confirmedAt = beganAt;
    } catch {
      // Without a successful poll, entries soon stop counting, and requests read the database themselves.
    } finally {
      isPolling = false;
    }
  }

  return {
    /**
     * Returns an entry if it counts. Starts a poll if the last one began a while ago, but does not wait for it. So there
     * are polls only while there are requests.
     */
    find(id: string): T | undefined {
      const at = now();
      if (!isPolling && at - pollBeganAt >= POLL_EVERY_MS) void poll(at);
      const entry = entries.get(id);
      if (entry === undefined || at - confirmedAt >= FRESH_MS) return undefined;
      if (at - entry.beganAt >= MAX_AGE_MS) {
        entries.delete(id);
        return undefined;
      }
      return entry.value;
    },

    /** Call this before a read whose result is to be cached. */
    beginRead: (): ReadTicket => ({ generation, beganAt: now() }),

    /** Caches the result of a read, unless there may have been a change since the read began. */
    add(id: string, { generation: begunIn, beganAt }: ReadTicket, value: T): void {
      if (begunIn !== generation || epoch === undefined) return;
      entries.delete(id);
      entries.set(id, { value, generation, beganAt });
      if (entries.size <= maxEntries) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },

    /** Drops all entries, and the results of reads in progress. */
    dropAll,

    size: () => entries.size,
  };
}
