/** Number of groups whose last turn is kept in memory: more than can wait at once. */
const MOST_REMEMBERED = 4_096;

/** A request for a turn. */
export interface TurnClaim {
  /** Groups of the requester, widest first, such as the networks of its address. Default: none. */
  groups?: readonly string[];
  /** Abort it when the result is no longer needed. A waiting claim is then rejected with its reason. */
  until?: AbortSignal;
}

export interface TurnLimits {
  atOnce: number;
  /** Default: unlimited. */
  mostWaiting?: number;
  /** Creates the error for a claim that finds the queue full. */
  turnedAway?: () => Error;
}

interface Waiting {
  /** Each group prefixed with its outer groups, so that names need to be unique only within their group. */
  groups: readonly string[];
  begin: () => void;
  turnAway: () => void;
}

type Turns = ReturnType<typeof createTurns>;

/**
 * Limits concurrent work and queues the rest. The next turn goes to the group whose last turn is longest ago, then to its
 * subgroup by the same rule, and so on; ties are first come, first served. When the queue is full, the group with the most
 * waiting claims loses its newest one, so a flood from one network delays and rejects only itself. Work whose claim is aborted
 * leaves the queue at once and never starts.
 */
export function createTurns(limits: TurnLimits) {
  const { atOnce, mostWaiting = Infinity, turnedAway = () => new Error('Too much waits for its turn.') } = limits;
  const waiting: Waiting[] = [];
  /** Number of the last turn of each group, latest last. */
  const served = new Map<string, number>();
  let running = 0;
  let turns = 0;

  const isFull = () => running >= atOnce;

  function begin(groups: readonly string[]): void {
    running += 1;
    turns += 1;
    for (const group of groups) {
      served.delete(group);
      served.set(group, turns);
    }
    for (const oldest of served.keys()) {
      if (served.size <= MOST_REMEMBERED) break;
      served.delete(oldest);
    }
  }

  function wait(groups: readonly string[], until: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        waiting.splice(waiting.indexOf(one), 1);
        until?.removeEventListener('abort', end);
        settle();
      };
      const end = () => leave(() => reject(until?.reason as Error));
      const one: Waiting = {
        groups,
        begin: () => leave(resolve),
        turnAway: () => leave(() => reject(turnedAway())),
      };
      waiting.push(one);
      until?.addEventListener('abort', end);
      if (waiting.length > mostWaiting)
        descend(waiting, (_, { length }) => length)
          .at(-1)
          ?.turnAway();
    });
  }

  /**
   * Takes a turn; `leave` ends it.
   * @returns undefined if the turn begins at once, otherwise a promise that resolves when it begins
   * @throws the reason of `until` if it is already aborted
   */
  function enter({ groups: names = [], until }: TurnClaim): Promise<void> | undefined {
    until?.throwIfAborted();
    const groups = names.map((_, depth) => names.slice(0, depth + 1).join('\n'));
    if (isFull()) return wait(groups, until);
    begin(groups);
    return undefined;
  }

  function leave(): void {
    running -= 1;
    const [next] = descend(waiting, (group) => -(served.get(group) ?? 0));
    if (next === undefined) return;
    begin(next.groups);
    next.begin();
  }

  return {
    enter,
    leave,
    /** Whether the next claim must wait. */
    isFull,
    isIdle: () => running === 0,

    /**
     * Runs work in its turn, synchronously if one is free.
     * @throws the error of `turnedAway` when the queue is full, or the reason of `until`
     */
    async run<T>(claim: TurnClaim, work: () => Promise<T>): Promise<T> {
      const turn = enter(claim);
      if (turn !== undefined) await turn;
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

export type TurnsByKey = ReturnType<typeof createTurnsByKey>;

/** Separate turns for each key: keys never wait for each other. */
export function createTurnsByKey(limits: TurnLimits) {
  const lines = new Map<string, Turns>();

  function enter(key: string, claim: TurnClaim): Promise<void> | undefined {
    claim.until?.throwIfAborted();
    const line = lines.get(key) ?? createTurns(limits);
    lines.set(key, line);
    return line.enter(claim);
  }

  function leave(key: string): void {
    const line = lines.get(key);
    line?.leave();
    if (line?.isIdle()) lines.delete(key);
  }

  return {
    enter,
    leave,
    isFull: (key: string) => lines.get(key)?.isFull() ?? false,
    /** Number of keys with work in progress. */
    size: () => lines.size,

    /** Runs work in a turn of the key; see `createTurns`. */
    async run<T>(key: string, claim: TurnClaim, work: () => Promise<T>): Promise<T> {
      const turn = enter(key, claim);
      if (turn !== undefined) await turn;
      try {
        return await work();
      } finally {
        leave(key);
      }
    },
  };
}

/** Narrows the claims down to the highest-ranking group, then to its highest-ranking subgroup, and so on; ties go to the first. */
function descend(all: readonly Waiting[], rank: (group: string, members: Waiting[]) => number): readonly Waiting[] {
  let left = all;
  for (let depth = 0; ; depth++) {
    const groups = new Map<string, Waiting[]>();
    for (const one of left) {
      const group = one.groups[depth] ?? '';
      const members = groups.get(group);
      if (members === undefined) groups.set(group, [one]);
      else members.push(one);
    }
    if (groups.size === 0 || (groups.size === 1 && groups.has(''))) return left;
    const ranked = [...groups].map(([group, members]) => ({ members, rank: rank(group, members) }));
    const best = Math.max(...ranked.map((group) => group.rank));
    left = ranked.find((group) => group.rank === best)?.members ?? [];
  }
}
