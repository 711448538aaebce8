import type { Direction } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import { createDecisionCapacity, type CapacityLimits } from './decision-capacity.js';

export interface PendingCall {
  accountId: string;
  mode: Mode;
  direction: Direction;
  callId: string;
}

/** Function to call once, when the call is accepted or rejected. */
type Release = () => void;

interface WaitingCall {
  call: PendingCall;
  limit: number;
  admit: () => void;
}

interface ModeLimits extends CapacityLimits {
  /** Share of the capacity that is left to inbound calls, because a caller cannot repeat a call as a program can. */
  inboundShare: number;
}

/**
 * Pending calls per process. A pending call is requested, but neither accepted nor rejected yet. A worker runs 40
 * workflow tasks at once by default. Test calls are free, so they must leave capacity for live calls.
 */
const LIMITS: Readonly<Record<Mode, ModeLimits>> = {
  live: { initial: 24, min: 4, max: 48, inboundShare: 1 / 4 },
  test: { initial: 20, min: 1, max: 20, inboundShare: 0 },
};
/** An account may have another pending call while it uses less than this share of the free capacity. */
const CAPACITY_SHARE = 1 / 2;
/** For this long after it was decided, a test call may be what makes decisions slow: while it lasts, and at its end. */
const TEST_WORK_MS = 60_000;
/**
 * Test calls stay one at a time until live calls were not decided slowly for this long. Otherwise each quick test call would
 * excuse the next slow live call, and live calls would keep a capacity that is too much for the workers.
 */
const ROOM_MS = 10_000;
/** For this long after an account was served, waiting accounts that were served longer ago go first. */
const YIELD_MS = 5_000;

export type PendingReservations = ReturnType<typeof createPendingReservations>;

/** Counts the calls in this process that are neither accepted nor rejected yet, and limits them per account and mode. */
export function createPendingReservations() {
  const modes = { live: createPendingCalls(LIMITS.live), test: createPendingCalls(LIMITS.test) };

  return {
    /** Number of pending calls of the call's account and mode. */
    countUndecided: (call: PendingCall): number => modes[call.mode].count(call),

    /**
     * Adds a call to the pending ones, unless its account has `limit` other pending calls in this mode or has used its
     * share of the capacity. A repeat of a pending call is always added.
     */
    enter: (call: PendingCall, limit: number): Release | undefined => modes[call.mode].enter(call, limit),

    /**
     * Like `enter`, but waits. Accounts that were served longer ago go first, and of one account its inbound calls.
     * @returns undefined if the call cannot be added within `ms`
     */
    wait: (call: PendingCall, limit: number, ms: number): Promise<Release | undefined> =>
      modes[call.mode].wait(call, limit, ms),

    /** Whether decisions are slow lately, or more calls wait than can be decided at a time. */
    isOverloaded: (mode: Mode): boolean => modes[mode].isOverloaded(),

    /**
     * Records how long a decision took. A slow decision halves the capacity, a quick one raises it. Otherwise calls would
     * delay each other until none is decided in time when a worker or Temporal is overloaded. If a live call is decided
     * slowly, test calls make room first: live calls keep their capacity once, until one test call at a time is left.
     * @param since start of the decision, in ms of `performance.now()`
     */
    recordDecision({ mode, since, isSlow }: { mode: Mode; since: number; isSlow: boolean }): void {
      if (!isSlow) return modes[mode].growIfNeeded();
      if (mode === 'test') return modes.test.cut(since);
      if (modes.test.makeRoom()) return modes.live.excuse();
      modes.live.cut(since);
      return undefined;
    },
  };
}

/** Counts the pending calls of one mode. */
function createPendingCalls({ inboundShare, ...limits }: ModeLimits) {
  const capacity = createDecisionCapacity(limits);
  const total = { inbound: 0, outbound: 0 };
  /** Number of requests per pending call, by account. Repeats of a request wait for the same call. */
  const pending = new Map<string, Map<string, number>>();
  /** In order of arrival. */
  const waiting: WaitingCall[] = [];
  /** When each account was last served, oldest first. */
  const enteredAt = new Map<string, number>();
  let lastEntryAt = -Infinity;
  /** When the capacity may grow again. */
  let growsAt = -Infinity;

  const count = ({ accountId }: PendingCall) => pending.get(accountId)?.size ?? 0;
  const isPending = ({ accountId, callId }: PendingCall) => pending.get(accountId)?.has(callId) === true;

  function freeCapacity({ direction }: PendingCall): number {
    const free = capacity.size() - total.inbound - total.outbound;
    if (direction === 'inbound') return free;
    return Math.min(free, Math.ceil(capacity.size() * (1 - inboundShare)) - total.outbound);
  }

  const mayEnter = (call: PendingCall, limit: number) =>
    isPending(call) || (count(call) < limit && count(call) < freeCapacity(call) * CAPACITY_SHARE);

  function recordEntry({ accountId }: PendingCall): void {
    const now = performance.now();
    lastEntryAt = now;
    enteredAt.delete(accountId);
    enteredAt.set(accountId, now);
    for (const [oldest, at] of enteredAt) {
      if (now - at < YIELD_MS) return;
      enteredAt.delete(oldest);
    }
  }

  function add(call: PendingCall): Release {
    const { accountId, callId, direction } = call;
    const calls = pending.get(accountId) ?? new Map<string, number>();
    if (!calls.has(callId)) {
      total[direction] += 1;
      recordEntry(call);
    }
    calls.set(callId, (calls.get(callId) ?? 0) + 1);
    pending.set(accountId, calls);
    return () => {
      const requests = (calls.get(callId) ?? 0) - 1;
      if (requests > 0) return void calls.set(callId, requests);
      calls.delete(callId);
      total[direction] -= 1;
      if (calls.size === 0) pending.delete(accountId);
      admitWaiting();
    };
  }

  const enter = (call: PendingCall, limit: number) => (mayEnter(call, limit) ? add(call) : undefined);

  function isBefore({ call: a }: WaitingCall, { call: b }: WaitingCall): boolean {
    if (a.accountId === b.accountId) return a.direction === 'inbound' && b.direction === 'outbound';
    return (enteredAt.get(a.accountId) ?? 0) < (enteredAt.get(b.accountId) ?? 0);
  }

  function admitWaiting(): void {
    for (;;) {
      let next: WaitingCall | undefined;
      for (const one of waiting)
        if (mayEnter(one.call, one.limit) && (next === undefined || isBefore(one, next))) next = one;
      if (next === undefined) return;
      waiting.splice(waiting.indexOf(next), 1);
      next.admit();
    }
  }

  return {
    count,
    enter,

    wait(call: PendingCall, limit: number, ms: number): Promise<Release | undefined> {
      return new Promise((resolve) => {
        const one: WaitingCall = { call, limit, admit: () => (clearTimeout(timer), resolve(add(call))) };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(one), 1);
          resolve(undefined);
        }, ms);
        waiting.push(one);
      });
    },

    isOverloaded: (): boolean => capacity.size() < limits.initial || waiting.length >= capacity.size(),
    cut: (since: number): void => capacity.cut(since),
    excuse: (): void => capacity.excuse(),

    /** Leaves one call at a time for a while if there was a call lately. @returns whether this makes a difference */
    makeRoom(): boolean {
      const now = performance.now();
      growsAt = now + ROOM_MS;
      const isInUse = total.inbound + total.outbound > 0 || now - lastEntryAt < TEST_WORK_MS;
      if (capacity.isLeast() || !isInUse) return false;
      capacity.cutToLeast();
      return true;
    },

    /** Raises the capacity, above its initial value only if at least half of it is used. */
    growIfNeeded(): void {
      if (performance.now() < growsAt) return;
      if (capacity.size() >= limits.initial && (total.inbound + total.outbound) * 2 < capacity.size()) return;
      capacity.grow();
      admitWaiting();
    },
  };
}
