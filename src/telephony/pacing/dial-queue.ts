/**
 * Decides which call may dial next on one carrier account, and when. Slots are points in time, one interval apart. An
 * unused slot expires when its time is over. Customer accounts share the slots fairly (start-time fair queueing with
 * equal weights): the turn number of a call is one more than the last turn of its account, and at least one more than
 * the last turn served. So before the j-th waiting call of an account, at most j + 1 calls of each other account are
 * served, no matter how many are waiting.
 *
 * An account that has used none of the latest slots and has no other waiting call goes first with one call, so that
 * accounts that always have calls waiting do not delay the few calls of others. At most half of the slots are used this
 * way, so that many such accounts together cannot keep out the others.
 */
export interface DialQueue {
  /** The earliest slot that is not assigned yet, ms since the epoch. */
  nextSlotAt: number;
  /** The highest turn number served. */
  turn: number;
  /** Waiting calls by call id. */
  waiting: Readonly<Record<string, WaitingCall>>;
  /** Accounts that used one of the latest slots, or go first for the next. Queues of 0.1.0 have none. */
  recent?: readonly RecentUse[];
}

interface RecentUse {
  accountId: string;
  /** Time of the slot, or when the account's call joined the queue in first place, ms since the epoch. */
  at: number;
  /** True for a call that went ahead of waiting calls. */
  wentFirst?: true;
}

export interface WaitingCall {
  accountId: string;
  turn: number;
  /** When the call asked for the first time, ms since the epoch. */
  since: number;
  /** When the call must ask again, ms since the epoch. A call that does not is removed from the queue. */
  asksAt: number;
}

export type SlotResponse =
  | { granted: true; slotAt: number }
  /** `ahead`: how many waiting calls dial before this one. `retryAt`: ms since the epoch. */
  | { granted: false; retryAt: number; ahead: number };

/** Maximum total time that a call waits for a dial slot. */
export const LONGEST_DIAL_WAIT_MS = 60_000;

/** A slot is assigned this long before its time, because it takes some time until the call dials. */
export const SLOT_LEAD_MS = 500;

/**
 * A call that dials later than its slot by more than this has missed the slot and needs a new one, because its dial may
 * be too close to the next ones.
 */
const SLOT_TOLERANCE_MS = 20;

/**
 * Safety factor of the interval between two dials, because carriers count by their clocks, and network delay varies by
 * some milliseconds.
 */
const RATE_MARGIN = 1.05;

/** A waiting call that asks for a slot later than it should by more than this is removed from the queue. */
const LATE_REQUEST_GRACE_MS = 1_000;

/**
 * A waiting call asks for a slot at least this often, even at the end of the queue, because calls ahead of it may
 * leave.
 */
const ASK_EVERY_MS = 10_000;

/** An account that used none of this many slots goes first: with five greedy accounts, each uses every fifth slot. */
const RESTED_SLOTS = 20;

/** Maximum calls within RESTED_SLOTS that go ahead of waiting calls. Further calls take their turns. */
const MAX_FIRST = RESTED_SLOTS / 2;

export function newDialQueue(): DialQueue {
  return { nextSlotAt: 0, turn: 0, waiting: {}, recent: [] };
}

/**
 * Requests a dial slot for one call. Pass the returned queue to the next request.
 * @param p.now ms since the epoch, from the same clock for all calls
 */
export function requestDialSlot(
  queue: DialQueue,
  p: { callId: string; accountId: string; now: number; callsPerSecond: number },
): { queue: DialQueue; answer: SlotResponse } {
  const { callId, accountId, now } = p;
  const interval = intervalMs(p.callsPerSecond);
  const { [callId]: known, ...others } = queue.waiting;
  const waiting = Object.fromEntries(Object.entries(others).filter(([, call]) => isWaiting(call, now)));
  const recent = (queue.recent ?? []).filter(({ at }) => at + RESTED_SLOTS * interval > now);
  const goesFirst = known === undefined && mayGoFirst(recent, waiting, accountId);
  // The turn before the current one is ahead of every waiting call, except those that went first before.
  const newTurn = goesFirst ? queue.turn - 1 : nextTurn(queue, waiting, accountId);
  const own = known ?? { accountId, turn: newTurn, since: now, asksAt: now };
  const ahead = Object.entries(waiting).filter(([id, call]) => isBefore([id, call], [callId, own]));
  const nextSlotAt = Math.max(now, queue.nextSlotAt);
  const isFree = nextSlotAt <= now + SLOT_LEAD_MS;
  // A call ahead that asks in time for this slot has priority. Calls ahead that ask later are skipped.
  if (isFree && !ahead.some(([, { asksAt }]) => asksAt <= now + interval)) {
    const turn = Math.max(queue.turn, own.turn);
    const passesOthers = goesFirst && Object.keys(waiting).length > 0;
    const used = { accountId, at: nextSlotAt, ...(passesOthers ? { wentFirst: true as const } : {}) };
    return {
      queue: { nextSlotAt: nextSlotAt + interval, turn, waiting, recent: [...recent, used] },
      answer: { granted: true, slotAt: Math.ceil(nextSlotAt) },
    };
  }
  const slotAt = nextSlotAt + ahead.length * interval;
  const asksAt = Math.ceil(Math.max(now + 1, Math.min(slotAt - SLOT_LEAD_MS, now + ASK_EVERY_MS)));
  const answer = { granted: false as const, retryAt: asksAt, ahead: ahead.length };
  // If a call's slot would come too late, do not add the call to the queue, which limits the queue's length. The call
  // may ask again in case a slot becomes free earlier.
  if (slotAt - now > LONGEST_DIAL_WAIT_MS) return { queue: { ...queue, waiting, recent }, answer };
  // Count a call that goes first when it joins. Otherwise an account that cancels its waiting calls could always go first.
  const joined: RecentUse[] = goesFirst ? [{ accountId, at: now, wentFirst: true }] : [];
  return {
    queue: { ...queue, waiting: { ...waiting, [callId]: { ...own, asksAt } }, recent: [...recent, ...joined] },
    answer,
  };
}

/** The calls that wait at `now`. Calls that left stay in the document until another call asks. */
export function waitingCalls({ waiting }: Pick<DialQueue, 'waiting'>, now: number): readonly WaitingCall[] {
  return Object.values(waiting).filter((call) => isWaiting(call, now));
}

function isWaiting({ asksAt }: WaitingCall, now: number): boolean {
  return asksAt + LATE_REQUEST_GRACE_MS >= now;
}

/** Whether it is too late to dial in a slot. Times are ms since the epoch. */
export function isMissed(slotAt: number, now: number): boolean {
  return now > slotAt + SLOT_TOLERANCE_MS;
}

/** Takes the next free slot for a call that was granted a slot and missed it. */
export function takeNextSlot(
  queue: DialQueue,
  p: { now: number; callsPerSecond: number },
): { queue: DialQueue; slotAt: number } {
  const slotAt = Math.max(p.now, queue.nextSlotAt);
  return { queue: { ...queue, nextSlotAt: slotAt + intervalMs(p.callsPerSecond) }, slotAt: Math.ceil(slotAt) };
}

/** Returns the time between two slots. It is not rounded, because at high rates a fraction of a ms matters. */
function intervalMs(callsPerSecond: number): number {
  return (1_000 * RATE_MARGIN) / callsPerSecond;
}

function mayGoFirst(recent: readonly RecentUse[], waiting: DialQueue['waiting'], accountId: string): boolean {
  const isKnown = [...recent, ...Object.values(waiting)].some((use) => use.accountId === accountId);
  return !isKnown && recent.filter(({ wentFirst }) => wentFirst).length < MAX_FIRST;
}

function nextTurn(queue: DialQueue, waiting: DialQueue['waiting'], accountId: string): number {
  const own = Object.values(waiting).filter((call) => call.accountId === accountId);
  return Math.max(queue.turn, ...own.map(({ turn }) => turn)) + 1;
}

function isBefore([id, call]: [string, WaitingCall], [otherId, other]: [string, WaitingCall]): boolean {
  if (call.turn !== other.turn) return call.turn < other.turn;
  if (call.since !== other.since) return call.since < other.since;
  return id < otherId;
}
