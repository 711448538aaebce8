/**
 * Who may dial next on one carrier account, and when. Slots are moments, one interval apart, so that a slot nobody uses
 * passes by itself. Accounts take turns: a call's turn is one more than the last turn of its account, and at least one
 * more than the last turn served (start-time fair queueing with equal weights). So before the j-th waiting call of an
 * account at most j + 1 calls of each other account are served, however many they have waiting.
 */
export interface DialQueue {
  /** The first moment that is not taken yet, ms since the epoch. */
  nextSlotAt: number;
  /** The highest turn served. */
  turn: number;
  /** By call id. */
  waiting: Readonly<Record<string, WaitingCall>>;
}

export interface WaitingCall {
  accountId: string;
  turn: number;
  since: number;
  /** When it was told to ask again; one that does not is forgotten. */
  asksAt: number;
}

export type DialAnswer =
  | { granted: true; slotAt: number }
  /** `ahead`: how many calls are served before it. */
  | { granted: false; askAgainAt: number; ahead: number };

/** No call waits longer than this in all. */
export const LONGEST_DIAL_WAIT_MS = 60_000;

/** A slot is given out this long before its time, so that the way to the dial costs no slot. */
export const SLOT_LEAD_MS = 500;

/** A dial that is later than this may fall into the same second as the next ones: it takes a new slot. */
const SLOT_TOLERANCE_MS = 20;

/** Carriers count on their own clock; requests reach them with some milliseconds of scatter. */
const ROOM = 1.05;

/** A waiting call that is this late is taken for gone. */
const PATIENCE_MS = 1_000;

/** Even far back in the queue a call asks this often, because those before it may leave. */
const ASK_EVERY_MS = 10_000;

export function newDialQueue(): DialQueue {
  return { nextSlotAt: 0, turn: 0, waiting: {} };
}

/**
 * A call's question whether it may dial. Ask again with the queue that was returned.
 * @param p.now ms since the epoch, by one clock for all who ask
 */
export function askForSlot(
  queue: DialQueue,
  p: { callId: string; accountId: string; now: number; callsPerSecond: number },
): { queue: DialQueue; answer: DialAnswer } {
  const { callId, accountId, now } = p;
  const interval = intervalMs(p.callsPerSecond);
  const { [callId]: known, ...others } = queue.waiting;
  const waiting = Object.fromEntries(Object.entries(others).filter(([, { asksAt }]) => asksAt + PATIENCE_MS >= now));
  const mine = known ?? { accountId, turn: nextTurn(queue, waiting, accountId), since: now, asksAt: now };
  const ahead = Object.entries(waiting).filter(([id, call]) => isBefore([id, call], [callId, mine]));
  const nextSlotAt = Math.max(now, queue.nextSlotAt);
  const isFree = nextSlotAt <= now + SLOT_LEAD_MS;
  // Those who sleep longer than this slot lasts cannot use it; whoever is about to ask comes first.
  if (isFree && !ahead.some(([, { asksAt }]) => asksAt <= now + interval)) {
    const turn = Math.max(queue.turn, mine.turn);
    return {
      queue: { nextSlotAt: nextSlotAt + interval, turn, waiting },
      answer: { granted: true, slotAt: nextSlotAt },
    };
  }
  const slotAt = nextSlotAt + ahead.length * interval;
  const asksAt = Math.max(now + 1, Math.min(slotAt - SLOT_LEAD_MS, now + ASK_EVERY_MS));
  // Whose slot would come too late gets no place, which bounds the queue; room may come up all the same.
  const keeps = slotAt - now <= LONGEST_DIAL_WAIT_MS;
  return {
    queue: { ...queue, waiting: keeps ? { ...waiting, [callId]: { ...mine, asksAt } } : waiting },
    answer: { granted: false, askAgainAt: asksAt, ahead: ahead.length },
  };
}

export function isMissed(slotAt: number, now: number): boolean {
  return now > slotAt + SLOT_TOLERANCE_MS;
}

/** The next free slot, for a call whose turn has come already. */
export function takeNextSlot(
  queue: DialQueue,
  p: { now: number; callsPerSecond: number },
): { queue: DialQueue; slotAt: number } {
  const slotAt = Math.max(p.now, queue.nextSlotAt);
  return { queue: { ...queue, nextSlotAt: slotAt + intervalMs(p.callsPerSecond) }, slotAt };
}

function intervalMs(callsPerSecond: number): number {
  return Math.ceil((1_000 * ROOM) / callsPerSecond);
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
