/** Whose groups are remembered as served; more than ever wait at once. */
const MOST_REMEMBERED = 4_096;

export interface TurnClaim {
  /** The groups that who asks belongs to, the widest first, such as the networks of an address. By default none. */
  groups?: readonly string[];
  /** Aborted when nobody waits for the result any more; its reason is what a claim that still waits is rejected with. */
  until?: AbortSignal;
}

export interface TurnLimits {
  atOnce: number;
  /** By default as many as come. */
  mostWaiting?: number;
  /** What a claim is rejected with for which there is no room. */
  turnedAway?: () => Error;
}

interface Waiting {
  /** Each group with those around it, so that names need to be unique only within their group. */
  groups: readonly string[];
  begin: () => void;
  turnAway: () => void;
}

type Turns = ReturnType<typeof createTurns>;

/**
 * Runs as much work at once as given; more waits. The next turn goes to the group that was served longest ago, within it to
 * its group that was, and so on; of equals to who came first. Where too much waits, the group with most of it loses its
 * newest: who floods from one network waits for themselves and turns away themselves. Work whose claim ends while it waits
 * makes room at once and never begins.
 */
export function createTurns(limits: TurnLimits) {
  const { atOnce, mostWaiting = Infinity, turnedAway = () => new Error('Too much waits for its turn.') } = limits;
  const waiting: Waiting[] = [];
  /** When each group was served, the latest last. */
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
   * Takes a turn, which lasts until `leave`.
   * @returns undefined when it is there at once; otherwise what settles as the claim does
   * @throws the reason of `until` when that is aborted already
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
    /** Whether the next one must wait. */
    isFull,
    isIdle: () => running === 0,

    /**
     * Does work in turn, at once where nothing is before it.
     * @throws what `turnedAway` makes, when too much waits, or the reason of `until`
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

/** Turns for each key by itself; keys never wait for each other. */
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
    /** Keys of which something is under way. */
    size: () => lines.size,

    /** As `run` of the turns of the key. */
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

/** Goes down from group to group, each time to the one that ranks highest: of equals to the first. */
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
