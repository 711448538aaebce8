import {
  requestDialSlot,
  newDialQueue,
  SLOT_LEAD_MS,
  takeNextSlot,
  waitingCalls,
  type DialQueue,
} from '../../src/telephony/pacing/dial-queue.js';

/**
 * Simulated calls that ask for dial slots, by the test's clock. Each call asks up to `lateMs` later than the time at
 * which it should ask again.
 */
class SimulatedCalls {
  readonly dials: { callId: string; accountId: string; at: number }[] = [];
  requests = 0;
  queue: DialQueue = newDialQueue();
  largest = 0;
  private readonly due: { at: number; callId: string; accountId: string }[] = [];

  constructor(
    private readonly callsPerSecond: number,
    private readonly lateMs = 30,
    private seed = 7,
  ) {}

  random(): number {
    this.seed = (this.seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return this.seed / 2_147_483_648;
  }

  arrive(accountId: string, count: number, at: number): void {
    for (let i = 0; i < count; i++) this.due.push({ at, accountId, callId: `${accountId}-${at}-${i}` });
  }

  /** Removes the call without telling the queue, as when a worker dies. */
  leave(callId: string): void {
    const index = this.due.findIndex((call) => call.callId === callId);
    if (index >= 0) this.due.splice(index, 1);
  }

  run(untilMs: number): this {
    for (;;) {
      this.due.sort((a, b) => a.at - b.at);
      const next = this.due[0];
      if (next === undefined || next.at > untilMs) return this;
      this.due.shift();
      const { callId, accountId, at } = next;
      const decision = requestDialSlot(this.queue, { callId, accountId, now: at, callsPerSecond: this.callsPerSecond });
      this.queue = decision.queue;
      this.requests += 1;
      this.largest = Math.max(this.largest, Object.keys(this.queue.waiting).length);
      if (decision.answer.granted) this.dials.push({ callId, accountId, at: decision.answer.slotAt });
      else this.due.push({ callId, accountId, at: decision.answer.retryAt + Math.floor(this.random() * this.lateMs) });
    }
  }

  /** Returns the largest number of dials within any one second. */
  mostInASecond(): number {
    const times = this.dials.map(({ at }) => at);
    return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
  }

  /**
   * Returns how many calls of other accounts were dialed between the arrival of this account's call and its first dial.
   */
  dialsBefore(accountId: string, since: number): number {
    const first = this.dials.findIndex((dial) => dial.accountId === accountId);
    return this.dials.slice(0, first).filter(({ at }) => at >= since).length;
  }
}

describe('the dial queue of a carrier account', () => {
  it('gives a single call its slot at once', () => {
    const { answer } = requestDialSlot(newDialQueue(), { callId: 'a', accountId: 'A', now: 5_000, callsPerSecond: 1 });
    expect(answer).toEqual({ granted: true, slotAt: 5_000 });
  });

  it.each([1, 2, 5, 10])('never allows more than %i dials within a second, and wastes few slots', (rate) => {
    const calls = new SimulatedCalls(rate);
    for (const account of ['A', 'B', 'C']) calls.arrive(account, rate * 10, 1_000);
    calls.run(60_000);
    expect(calls.dials).toHaveLength(rate * 30);
    expect(calls.mostInASecond()).toBeLessThanOrEqual(rate);
    expect(calls.dials.at(-1)?.at).toBeLessThan(1_000 + 30_000 * 1.15);
  });

  it('has more than a hundred slots a second, also at rates that are no divisor of 1,000 ms', () => {
    const dialAll = (lateMs: number) => {
      const calls = new SimulatedCalls(210, lateMs);
      for (const account of ['A', 'B', 'C']) calls.arrive(account, 105, 1_000);
      calls.run(10_000);
      expect(calls.dials).toHaveLength(315);
      expect(calls.mostInASecond()).toBeLessThanOrEqual(210);
      expect(calls.dials.every(({ at }) => Number.isInteger(at))).toBe(true);
      return (calls.dials.at(-1)?.at ?? Infinity) - 1_000;
    };
    expect(dialAll(1)).toBeLessThan(1_500 * 1.15);
    // Calls that ask late delay those behind them, so a full queue of so high a rate wastes slots.
    expect(dialAll(30)).toBeLessThan(1_500 * 1.5);
  });

  it('serves a new account after at most four of a hundred waiting calls of another account', () => {
    const calls = new SimulatedCalls(2);
    calls.arrive('many', 100, 0);
    calls.run(5_000);
    calls.arrive('one', 1, 5_000);
    calls.run(60_000);
    // Slots within the lead time, at most two, were already assigned. After them, at most j + 1 calls of the other
    // account go before the j-th waiting call of an account, so at most two before this first call.
    expect(calls.dialsBefore('one', 5_000)).toBeLessThanOrEqual(2 + 2);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('keeps its fairness guarantee with seed %i', (seed) => {
    const calls = new SimulatedCalls(4, 30, seed);
    /** For each call, when it arrived and its position among the waiting calls of its account, from 1. */
    const arrivals = new Map<string, { at: number; position: number }>();
    for (let at = 0; at < 30_000; at += 500) {
      calls.run(at);
      for (const account of ['A', 'B', 'C', 'D']) {
        if (calls.random() > (account === 'A' ? 0.95 : 0.5)) continue;
        const waiting = Object.values(calls.queue.waiting).filter(({ accountId }) => accountId === account).length;
        calls.arrive(account, 1, at);
        arrivals.set(`${account}-${at}-0`, { at, position: waiting + 1 });
        calls.run(at);
      }
    }
    calls.run(200_000);
    const excess = [...arrivals].map(([callId, { at, position }]) => {
      const ownDial = calls.dials.find((dial) => dial.callId === callId);
      const before = calls.dials.filter(
        (dial) =>
          dial.at >= at + SLOT_LEAD_MS && dial.at < (ownDial?.at ?? Infinity) && dial.accountId !== ownDial?.accountId,
      );
      const counts = ['A', 'B', 'C', 'D'].map((id) => before.filter(({ accountId }) => accountId === id).length);
      return Math.max(...counts) - (position + 1);
    });
    expect(calls.dials).toHaveLength(arrivals.size);
    expect(Math.max(...[...arrivals.values()].map(({ position }) => position))).toBeGreaterThan(3);
    expect(Math.max(...excess)).toBeLessThanOrEqual(0);
  });

  it('shares evenly between accounts that all want more than the rate allows', () => {
    const calls = new SimulatedCalls(4);
    calls.arrive('A', 200, 0);
    calls.arrive('B', 40, 1_000);
    calls.arrive('C', 40, 2_000);
    calls.run(16_000);
    const late = calls.dials.filter(({ at }) => at >= 3_000);
    const shares = ['A', 'B', 'C'].map((id) => late.filter(({ accountId }) => accountId === id).length);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(4);
  });

  it('serves the calls of one account in the order of arrival', () => {
    const calls = new SimulatedCalls(2, 0);
    for (let i = 0; i < 20; i++) calls.arrive('A', 1, i * 50);
    calls.run(60_000);
    const arrivals = calls.dials.map(({ callId }) => Number(callId.split('-')[1]));
    expect(arrivals).toEqual([...arrivals].sort((a, b) => a - b));
  });

  it('drops calls that stop asking, and continues within a second of their slots', () => {
    const calls = new SimulatedCalls(1);
    calls.arrive('A', 10, 0);
    calls.run(0);
    for (let i = 1; i < 9; i++) calls.leave(`A-0-${i}`);
    calls.run(60_000);
    expect(calls.dials).toHaveLength(2);
    expect(calls.dials[1]?.at).toBeLessThanOrEqual(9 * 1_050 + 2_500);
  });

  it('stays small with many waiting calls, and each asks only a few times', () => {
    const calls = new SimulatedCalls(1);
    calls.arrive('A', 1_000, 0);
    calls.run(30_000);
    expect(calls.largest).toBeLessThanOrEqual(60);
    expect(calls.requests).toBeLessThan(1_000 * 8);
  });

  it('gives a call that missed its slot the next free one', () => {
    const { queue } = requestDialSlot(newDialQueue(), { callId: 'a', accountId: 'A', now: 0, callsPerSecond: 1 });
    const first = takeNextSlot(queue, { now: 300, callsPerSecond: 1 });
    expect(first.slotAt).toBeGreaterThanOrEqual(1_000);
    expect(takeNextSlot(first.queue, { now: 300, callsPerSecond: 1 }).slotAt - first.slotAt).toBeGreaterThanOrEqual(
      1_000,
    );
  });
});

it('a call that does not ask again no longer counts as waiting, also if no other call asks', () => {
  const request = (queue: DialQueue, callId: string) =>
    requestDialSlot(queue, { callId, accountId: 'a', now: 0, callsPerSecond: 0.5 }).queue;
  const queue = ['first', 'second', 'third'].reduce(request, newDialQueue());
  const asksAt = Object.values(queue.waiting).map((call) => call.asksAt);
  expect(waitingCalls(queue, 0)).toHaveLength(2);
  expect(waitingCalls(queue, Math.min(...asksAt) + 1_000)).toHaveLength(2);
  expect(waitingCalls(queue, Math.max(...asksAt) + 1_001)).toEqual([]);
});
