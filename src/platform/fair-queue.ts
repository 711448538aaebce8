import { createTimeShares, createTurnShares } from './fair-shares.js';

/** A request that a queue admits or rejects. */
export interface SlotRequest {
  /** Groups of the sender, widest first, such as the networks of its address. Default: none. */
  groups?: readonly string[];
  /**
   * A signal to abort when the result is no longer needed. A waiting request is then rejected with the signal's reason.
   */
  signal?: AbortSignal;
}

export interface FairQueueLimits {
  maxRunning: number;
  /** Maximum of these of one widest group. Default: all. */
  maxRunningPerGroup?: number;
  /** Maximum waiting requests. Default: unlimited. */
  maxWaiting?: number;
  /** Creates the error for a request that finds the queue full. */
  createFullError?: () => Error;
  /** Groups share this equally: turns, or the time that the work of `run` takes. Default: turns. */
  share?: 'turns' | 'time';
  now?: () => number;
}

interface WaitingRequest {
  /** The groups, each prefixed with its outer groups, so that names need to be unique only within their group. */
  groups: readonly string[];
  admit: () => void;
  reject: () => void;
}

type FairQueue = ReturnType<typeof createFairQueue>;

/**
 * Limits concurrent work and queues the rest. The next slot goes to the group that was admitted longest ago, or that
 * used the least time lately, then to its subgroup by the same rule, and so on. Equal groups are served in order of arrival. When the queue is full, the
 * group with the most waiting requests loses its newest one. So a flood from one network delays and rejects only that
 * network's requests. Work whose signal is aborted leaves the queue at once and never starts.
 */
export function createFairQueue(limits: FairQueueLimits) {
  const { maxRunning, maxWaiting = Infinity, createFullError = () => new Error('The queue is full.') } = limits;
  const { share = 'turns', now = () => performance.now(), maxRunningPerGroup = maxRunning } = limits;
  const waiting: WaitingRequest[] = [];
  const shares = share === 'time' ? createTimeShares(now) : createTurnShares();
  /** Requests in progress, by their widest group. */
  const runningOf = new Map<string, number>();
  let running = 0;

  const isFull = () => running >= maxRunning;
  const mayBegin = ([widest = '']: readonly string[]) => !isFull() && (runningOf.get(widest) ?? 0) < maxRunningPerGroup;

  function begin(groups: readonly string[]): void {
    running += 1;
    count(groups, 1);
    shares.admit(groups);
  }

  function count([widest = '']: readonly string[], change: 1 | -1): void {
    const left = (runningOf.get(widest) ?? 0) + change;
    if (left === 0) runningOf.delete(widest);
    else runningOf.set(widest, left);
  }

  function wait(groups: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        waiting.splice(waiting.indexOf(one), 1);
        signal?.removeEventListener('abort', end);
        settle();
      };
      const end = () => leave(() => reject(signal?.reason as Error));
      const one: WaitingRequest = {
        groups,
        admit: () => leave(resolve),
        reject: () => leave(() => reject(createFullError())),
      };
      waiting.push(one);
      signal?.addEventListener('abort', end);
      if (waiting.length > maxWaiting)
        selectByRank(waiting, (_, { length }) => length)
          .at(-1)
          ?.reject();
    });
  }

  /**
   * Takes a slot, which `leave` with the same groups frees.
   * @returns undefined if a slot is free, otherwise a promise that resolves when the request is admitted
   * @throws the reason of `signal` if it is already aborted
   */
  function enter({ groups: names = [], signal }: SlotRequest): Promise<void> | undefined {
    signal?.throwIfAborted();
    const groups = nested(names);
    if (!mayBegin(groups)) return wait(groups, signal);
    begin(groups);
    return undefined;
  }

  function leave({ groups = [] }: Pick<SlotRequest, 'groups'>): void {
    running -= 1;
    count(nested(groups), -1);
    const admissible = waiting.filter((one) => mayBegin(one.groups));
    const [next] = selectByRank(admissible, (group) => -shares.of(group));
    if (next === undefined) return;
    begin(next.groups);
    next.admit();
  }

  return {
    enter,
    leave,
    /** Whether all slots are taken, so that the next request must wait. */
    isFull,
    /** Whether a request of these groups can begin at once. */
    isFree: ({ groups = [] }: Pick<SlotRequest, 'groups'> = {}) => mayBegin(nested(groups)),
    isIdle: () => running === 0,

    /**
     * Runs work when the queue admits it. If a slot is free, starts it synchronously.
     * @throws the error of `createFullError` when the queue is full, or the reason of `signal`
     */
    async run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T> {
      const wait = enter(request);
      if (wait !== undefined) await wait;
      const startedAt = now();
      try {
        return await work();
      } finally {
        shares.charge(nested(request.groups ?? []), now() - startedAt);
        leave(request);
      }
    },
  };
}

export type FairQueues = ReturnType<typeof createFairQueues>;

/** Creates one queue for each key, so that requests with different keys never wait for each other. */
export function createFairQueues(limits: FairQueueLimits) {
  const queues = new Map<string, FairQueue>();

  function enter(key: string, request: SlotRequest): Promise<void> | undefined {
    request.signal?.throwIfAborted();
    const queue = queues.get(key) ?? createFairQueue(limits);
    queues.set(key, queue);
    return queue.enter(request);
  }

  function leave(key: string, request: Pick<SlotRequest, 'groups'>): void {
    const queue = queues.get(key);
    queue?.leave(request);
    if (queue?.isIdle()) queues.delete(key);
  }

  return {
    enter,
    leave,
    isFree: (key: string, request: Pick<SlotRequest, 'groups'>) => queues.get(key)?.isFree(request) ?? true,
    /** Number of keys with work in progress. */
    size: () => queues.size,

    /** Runs work when the key's queue admits it; see `createFairQueue`. */
    async run<T>(key: string, request: SlotRequest, work: () => Promise<T>): Promise<T> {
      const wait = enter(key, request);
      if (wait !== undefined) await wait;
      try {
        return await work();
      } finally {
        leave(key, request);
      }
    },
  };
}

/** Prefixes each group with its outer groups. */
function nested(names: readonly string[]): string[] {
  return names.map((_, depth) => names.slice(0, depth + 1).join('\n'));
}

/**
 * Selects the requests of the group with the highest rank, then of its subgroup with the highest rank, and so on. Of
 * equal groups, selects the first.
 */
function selectByRank(
  all: readonly WaitingRequest[],
  rank: (group: string, members: WaitingRequest[]) => number,
): readonly WaitingRequest[] {
  let left = all;
  for (let depth = 0; ; depth++) {
    const groups = new Map<string, WaitingRequest[]>();
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
