import type { Mode } from '../../kernel/ids.js';

/**
 * Default limits of concurrent requests in this process, used for webhooks. The total is well below the number of
 * activities that a worker runs at once, so that other work continues.
 */
const TOTAL_SLOTS = 64;
/** Maximum concurrent requests to one target, and to all targets of one account. */
const SLOTS_PER_TARGET = 8;
const SLOTS_PER_ACCOUNT = 16;
/**
 * Maximum concurrent requests about test calls of all accounts. Test calls are free and must leave slots for live ones.
 */
const TEST_SLOTS = 32;
/** Minimum and maximum delay before a rejected request is retried. */
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
/**
 * Assumed duration of a request to a target that has not had one yet. It is short, so that a burst to a fast target
 * does not wait.
 */
const ASSUMED_DURATION_MS = 100;
/** Maximum targets and accounts whose limits and durations are kept in memory. */
const MAX_REMEMBERED_LANES = 1_000;

/** The server that a request of an account goes to. */
export interface EgressTarget {
  accountId: string;
  host: string;
  /** Mode of the call that the request is about; live by default. */
  mode?: Mode;
  /** True if the request is made in the task queue `background`. */
  isBackground?: boolean;
}

/** Requests in progress to one target, or to all targets of one account. */
interface Lane {
  /** Maximum concurrent requests. */
  max: number;
  /** Another request may start only while those in progress are fewer than this share of the free slots. */
  share: number;
  /** Requests in progress, oldest first. */
  running: Set<{ since: number }>;
  /** Moving average of the duration of its requests, in ms. */
  averageMs: number;
  /** When the next rejected request should be retried. */
  retryAt: number;
}

/** A slot, which must be released after use; or the time in ms after which to retry. */
export type SlotResult = { release(): void } | { retryAfterMs: number };

/** A bulkhead; see `createBulkhead`. */
export interface Bulkhead {
  /** Returns how long to wait for a slot, in ms; undefined if a slot is free now. */
  waitMsFor(target: EgressTarget): number | undefined;
  /** Takes a slot for one request. If none is free, returns after how many ms to retry. */
  tryAcquire(target: EgressTarget): SlotResult;
}

/**
 * Creates a bulkhead for requests, so that targets that use their full timeout do not delay others. A target has at
 * most 8 of 64 slots, an account 16 and test calls 32; targets and accounts have fewer when few slots are left.
 * @param p.backgroundSlots maximum concurrent requests in the task queue `background`; by default all
 */
export function createBulkhead({
  total = TOTAL_SLOTS,
  perTarget = SLOTS_PER_TARGET,
  perAccount = SLOTS_PER_ACCOUNT,
  testSlots = TEST_SLOTS,
  backgroundSlots = TOTAL_SLOTS,
} = {}): Bulkhead {
  const lanes = new Map<string, Lane>();
  let taken = 0;
  let takenByTest = 0;
  let takenInBackground = 0;

  function lanesOf({ accountId, host }: EgressTarget): Lane[] {
    return [laneOf(`${accountId} ${host}`, perTarget, 1 / 4), laneOf(accountId, perAccount, 1 / 2)];
  }

  function laneOf(key: string, max: number, share: number): Lane {
    const lane = lanes.get(key) ?? { max, share, running: new Set(), averageMs: ASSUMED_DURATION_MS, retryAt: 0 };
    // Move the lane to the end, because the least recently used one is removed first.
    lanes.delete(key);
    lanes.set(key, lane);
    if (lanes.size > MAX_REMEMBERED_LANES) removeOldestLane();
    return lane;
  }

  function removeOldestLane(): void {
    for (const [key, { running }] of lanes) {
      if (running.size === 0) {
        lanes.delete(key);
        return;
      }
    }
  }

  /**
   * Returns when to retry a rejected request. Retries are spread by how fast slots become free, because requests that
   * all retry at once would be rejected again.
   */
  function retryDelayOf(lane: Lane): number {
    const now = performance.now();
    const [oldest] = lane.running;
    const takesMs = Math.max(lane.averageMs, now - (oldest?.since ?? now));
    lane.retryAt = Math.min(Math.max(lane.retryAt, now) + takesMs / lane.max, now + MAX_RETRY_MS);
    return Math.max(MIN_RETRY_MS, Math.round(lane.retryAt - now));
  }

  function freeFor({ mode, isBackground = false }: EgressTarget): number {
    const forTest = mode === 'test' ? testSlots - takenByTest : total;
    return Math.min(total - taken, forTest, isBackground ? backgroundSlots - takenInBackground : total);
  }

  function waitMsIn(ownLanes: readonly Lane[], free: number): number | undefined {
    const full = ownLanes.filter(({ running, max, share }) => running.size >= Math.min(max, free * share));
    return full.length === 0 ? undefined : Math.max(...full.map(retryDelayOf));
  }

  return {
    waitMsFor: (target) => waitMsIn(lanesOf(target), freeFor(target)),
    tryAcquire(target) {
      const ownLanes = lanesOf(target);
      const retryAfterMs = waitMsIn(ownLanes, freeFor(target));
      if (retryAfterMs !== undefined) return { retryAfterMs };
      const request = { since: performance.now() };
      for (const lane of ownLanes) lane.running.add(request);
      taken += 1;
      const [isTest, isBackground] = [target.mode === 'test', target.isBackground === true];
      takenByTest += Number(isTest);
      takenInBackground += Number(isBackground);
      return {
        release() {
          taken -= 1;
          takenByTest -= Number(isTest);
          takenInBackground -= Number(isBackground);
          for (const lane of ownLanes) {
            lane.running.delete(request);
            lane.averageMs = lane.averageMs * 0.75 + (performance.now() - request.since) * 0.25;
          }
        },
      };
    },
  };
}
