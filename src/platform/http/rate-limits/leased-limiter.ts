/** Unused leases of all processes together are at most this part of a limit. */
const UNUSED_SHARE = 0.05;
/** Maximum keys with a lease. For further keys, each request is counted in the store. */
const MAX_LEASES = 20_000;
const SWEEP_EVERY_MS = 1_000;

/** The window of a key in the store after points were taken. */
export interface LimitWindow {
  /** When it ends, ms since the epoch, which identifies it. */
  expiresAt: number;
  /** Points that all processes have taken in it. */
  points: number;
  /** Number of processes that have joined it. */
  holders: number;
}

/** Counts points for all processes. */
export interface LimitStore {
  /**
   * Takes points in the key's current window, or begins one.
   * @param asHolder whether the process may take leases in it from now on
   */
  join(key: string, points: number, asHolder: boolean): Promise<LimitWindow>;
  /** Takes further points in a window; null, and nothing is taken, if it is over. */
  take(key: string, expiresAt: number, points: number): Promise<LimitWindow | null>;
}

export interface LimitOutcome {
  allowed: boolean;
  /** Points left in the window. Those that other processes have leased do not count. */
  remaining: number;
  msBeforeNext: number;
}

interface WaitingRequest {
  limit: number;
  settle: (outcome: LimitOutcome | Promise<LimitOutcome>) => void;
}

/** The points that a process has taken of one key's window. Points have positions from 1; those above the limit are worthless. */
interface Lease {
  /** Absent before the first points were taken. */
  window?: LimitWindow;
  /** Time of the monotonic clock when the window ends. */
  endsAt: number;
  /** Number of the process among the window's holders, from 1. */
  holder: number;
  next: number;
  last: number;
  /** How many points were leased in advance last time. */
  extra: number;
  waiting: WaitingRequest[];
  isTaking: boolean;
}

export interface LeasedLimiterOptions {
  store: LimitStore;
  /** Counts a point while the store is unavailable. */
  fallback: (key: string, limit: number) => Promise<LimitOutcome>;
  /** A monotonic clock, in ms. */
  now?: () => number;
  /** The clock of the windows, ms since the epoch. */
  wallClock?: () => number;
  maxLeases?: number;
}

/**
 * Limits points per window over all processes. A process takes points from the store in blocks, in advance, and hands
 * them out from memory. Every point is taken before it is handed out, and each has its own position, so all processes
 * together never exceed a limit.
 *
 * A process hands out one point per request at first, then leases 1, 2, 4 ... in advance, up to its share: the first
 * process of a window 1/2, the second 1/4, and so on, of 5 % of the limit. Near the end the leases shrink to nothing. So
 * when a request is rejected, at least 95 % of the limit were handed out, whatever other processes have left.
 */
export function createLeasedLimiter(options: LeasedLimiterOptions) {
  const { store, fallback, now = () => performance.now(), wallClock = Date.now, maxLeases = MAX_LEASES } = options;
  const leases = new Map<string, Lease>();
  let sweptAt = -Infinity;

  function hasRoom(): boolean {
    if (leases.size < maxLeases) return true;
    if (now() - sweptAt < SWEEP_EVERY_MS) return false;
    sweptAt = now();
    for (const [key, lease] of leases) if (!lease.isTaking && lease.endsAt <= sweptAt) leases.delete(key);
    return leases.size < maxLeases;
  }

  const outcome = (lease: Pick<Lease, 'endsAt'>, allowed: boolean, remaining: number): LimitOutcome => ({
    allowed,
    remaining,
    msBeforeNext: Math.max(0, lease.endsAt - now()),
  });

  /** Hands out a point, or rejects the request; undefined if the store must be asked. */
  function fromLease(lease: Lease, limit: number): LimitOutcome | undefined {
    const { window } = lease;
    if (window === undefined || now() >= lease.endsAt) return undefined;
    const last = Math.min(lease.last, limit);
    if (lease.next > last) return window.points >= limit ? outcome(lease, false, 0) : undefined;
    const left = last - lease.next;
    lease.next += 1;
    return outcome(lease, true, Math.max(0, limit - window.points) + left);
  }

  /** Takes points for the waiting requests, and perhaps some in advance. */
  async function takeBlock(key: string, lease: Lease): Promise<void> {
    const needed = lease.waiting.length;
    const limit = lease.waiting[0]?.limit ?? 0;
    if (lease.window !== undefined && now() < lease.endsAt) {
      const extra = extraOf(lease, lease.window, limit);
      const taken = await store.take(key, lease.window.expiresAt, needed + extra);
      if (taken !== null) {
        Object.assign(lease, blockOf(taken, needed + extra), { extra });
        return;
      }
    }
    const joined = await store.join(key, needed, true);
    const endsAt = now() + joined.expiresAt - wallClock();
    Object.assign(lease, blockOf(joined, needed), { extra: 0, endsAt, holder: joined.holders });
  }

  async function serveWaiting(key: string, lease: Lease): Promise<void> {
    lease.isTaking = true;
    try {
      while (lease.waiting.length > 0) {
        await takeBlock(key, lease);
        while (lease.waiting[0] !== undefined) {
          const served = fromLease(lease, lease.waiting[0].limit);
          if (served === undefined) break;
          lease.waiting.shift()?.settle(served);
        }
      }
    } catch {
      for (const { limit, settle } of lease.waiting.splice(0)) settle(fallback(key, limit));
    } finally {
      lease.isTaking = false;
    }
  }

  /** Counts one point without a lease. */
  async function countInStore(key: string, limit: number): Promise<LimitOutcome> {
    let joined: LimitWindow;
    try {
      joined = await store.join(key, 1, false);
    } catch {
      return fallback(key, limit);
    }
    const endsAt = now() + joined.expiresAt - wallClock();
    return outcome({ endsAt }, joined.points <= limit, Math.max(0, limit - joined.points));
  }

  return {
    /** Counts one point of a key. Responds at once if the process has a lease, or knows that the limit is reached. */
    consume(key: string, limit: number): LimitOutcome | Promise<LimitOutcome> {
      let lease = leases.get(key);
      if (lease === undefined) {
        if (!hasRoom()) return countInStore(key, limit);
        lease = { endsAt: 0, holder: 0, next: 1, last: 0, extra: 0, waiting: [], isTaking: false };
        leases.set(key, lease);
      }
      const taking = lease;
      const served = taking.waiting.length === 0 ? fromLease(taking, limit) : undefined;
      if (served !== undefined) return served;
      return new Promise((settle) => {
        taking.waiting.push({ limit, settle });
        if (!taking.isTaking) void serveWaiting(key, taking);
      });
    },

    /** Number of keys in memory. */
    size: () => leases.size,
  };
}

/** How many points to lease in advance. */
function extraOf({ holder, extra }: Lease, { points }: LimitWindow, limit: number): number {
  const share = (limit * UNUSED_SHARE) / 2 ** holder;
  const nearEnd = (limit - points) * UNUSED_SHARE;
  return Math.max(0, Math.floor(Math.min(share, nearEnd, Math.max(1, extra * 2))));
}

const blockOf = (window: LimitWindow, taken: number): Pick<Lease, 'next' | 'last'> & { window: LimitWindow } => ({
  window,
  next: window.points - taken + 1,
  last: window.points,
});
