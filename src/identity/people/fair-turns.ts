/** Whose groups are remembered as served; more than ever wait at once. */
const MOST_REMEMBERED = 4_096;

export interface TurnClaim {
  /** The groups that who asks belongs to, the widest first, such as the networks of an address. */
  groups: readonly string[];
  /** Aborted when nobody waits for the result any more; its reason is what a claim that still waits is rejected with. */
  until?: AbortSignal;
}

interface Waiting {
  /** Each group with those around it, so that names need to be unique only within their group. */
  groups: readonly string[];
  begin: () => void;
  turnAway: () => void;
}

export type FairTurns = ReturnType<typeof createFairTurns>;

/**
 * Runs as much work at once as given; more waits. The next turn goes to the group that was served longest ago, within it to
 * its group that was, and so on; of equals to who came first. Where too much waits, the group with most of it loses its
 * newest: who floods from one network waits for themselves and turns away themselves. Work whose claim ends while it waits
 * makes room at once and never begins.
 */
export function createFairTurns(p: { atOnce: number; mostWaiting: number; turnedAway: () => Error }) {
  const waiting: Waiting[] = [];
  /** When each group was served, the latest last. */
  const served = new Map<string, number>();
  let running = 0;
  let turns = 0;

  function note({ groups }: Pick<Waiting, 'groups'>): void {
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

  function serveNext(): void {
    const [next] = descend(waiting, (group) => -(served.get(group) ?? 0));
    if (running >= p.atOnce || next === undefined) return;
    running += 1;
    note(next);
    next.begin();
  }

  function enter({ groups, until }: TurnClaim): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        waiting.splice(waiting.indexOf(one), 1);
        until?.removeEventListener('abort', end);
        settle();
      };
      const end = () => leave(() => reject(until?.reason as Error));
      const one: Waiting = {
        groups: groups.map((_, depth) => groups.slice(0, depth + 1).join('\n')),
        begin: () => leave(resolve),
        turnAway: () => leave(() => reject(p.turnedAway())),
      };
      waiting.push(one);
      until?.addEventListener('abort', end);
      serveNext();
      if (waiting.length > p.mostWaiting)
        descend(waiting, (_, { length }) => length)
          .at(-1)
          ?.turnAway();
    });
  }

  return {
    /**
     * Does work in turn.
     * @throws what `turnedAway` makes, when too much waits, or the reason of `until`
     */
    async run<T>(claim: TurnClaim, work: () => Promise<T>): Promise<T> {
      claim.until?.throwIfAborted();
      await enter(claim);
      try {
        return await work();
      } finally {
        running -= 1;
        serveNext();
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
      groups.set(group, [...(groups.get(group) ?? []), one]);
    }
    if (groups.size === 0 || (groups.size === 1 && groups.has(''))) return left;
    const ranked = [...groups].map(([group, members]) => ({ members, rank: rank(group, members) }));
    const best = Math.max(...ranked.map((group) => group.rank));
    left = ranked.find((group) => group.rank === best)?.members ?? [];
  }
}
