/** Number of groups for which a queue keeps their share in memory: more than can wait at once. */
const MAX_REMEMBERED_GROUPS = 4_096;
/** Used time counts half after this time, so that a group soon stops paying for slots that were free when it used them. */
const HALF_LIFE_MS = 5_000;

/** Decides which group of a queue is served next. */
export interface Shares {
  /** The share that a group has had. The group with the smallest one is next. */
  of: (group: string) => number;
  /** Records that work of these groups was admitted. */
  admit: (groups: readonly string[]) => void;
  /** Records how long admitted work of these groups took. */
  charge: (groups: readonly string[], ms: number) => void;
}

/** Shares by turns: the next group is the one that was admitted longest ago. */
export function createTurnShares(): Shares {
  /** Sequence number of each group's last admission. */
  const served = createLatest<number>();
  let admitted = 0;
  return {
    of: (group) => served.get(group) ?? 0,
    admit(groups) {
      admitted += 1;
      for (const group of groups) served.set(group, admitted);
    },
    charge: () => undefined,
  };
}

/**
 * Shares by time: the next group is the one whose work took the least time lately. So groups with much work per turn
 * get fewer turns.
 */
export function createTimeShares(now: () => number): Shares {
  const used = createLatest<{ ms: number; at: number }>();

  function of(group: string): number {
    const last = used.get(group);
    return last === undefined ? 0 : last.ms * 0.5 ** ((now() - last.at) / HALF_LIFE_MS);
  }
  return {
    of,
    admit: () => undefined,
    charge(groups, ms) {
      for (const group of groups) used.set(group, { ms: of(group) + ms, at: now() });
    },
  };
}

/** Creates a map that keeps only the values that were set last. */
function createLatest<T>() {
  const values = new Map<string, T>();
  return {
    get: (key: string) => values.get(key),
    set(key: string, value: T): void {
      values.delete(key);
      values.set(key, value);
      for (const oldest of values.keys()) {
        if (values.size <= MAX_REMEMBERED_GROUPS) break;
        values.delete(oldest);
      }
    },
  };
}
