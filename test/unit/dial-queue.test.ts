import {
  askForSlot,
  newDialQueue,
  SLOT_LEAD_MS,
  takeNextSlot,
  type DialQueue,
} from '../../src/telephony/pacing/dial-queue.js';

/** Calls that ask when they are told to, on a clock of the test's own; each question comes up to `lateMs` late. */
class Callers {
  readonly dials: { callId: string; accountId: string; at: number }[] = [];
  questions = 0;
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

  /** The call leaves without a word, as a dead worker's would. */
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
      const asked = askForSlot(this.queue, { callId, accountId, now: at, callsPerSecond: this.callsPerSecond });
      this.queue = asked.queue;
      this.questions += 1;
      this.largest = Math.max(this.largest, Object.keys(this.queue.waiting).length);
      if (asked.answer.granted) this.dials.push({ callId, accountId, at: asked.answer.slotAt });
      else this.due.push({ callId, accountId, at: asked.answer.askAgainAt + Math.floor(this.random() * this.lateMs) });
    }
  }

  /** The largest number of dials in any window of a second, wherever it begins. */
  mostInASecond(): number {
    const times = this.dials.map(({ at }) => at);
    return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
  }

  /** How many dials of other accounts came before the first of this one, counted from when it arrived. */
  dialsBefore(accountId: string, since: number): number {
    const first = this.dials.findIndex((dial) => dial.accountId === accountId);
    return this.dials.slice(0, first).filter(({ at }) => at >= since).length;
  }
}

describe('the dial queue of a carrier account', () => {
  it('gives a lone call its slot at once', () => {
    const { answer } = askForSlot(newDialQueue(), { callId: 'a', accountId: 'A', now: 5_000, callsPerSecond: 1 });
    expect(answer).toEqual({ granted: true, slotAt: 5_000 });
  });

  it.each([1, 2, 5, 10])('never lets more than %i dials fall into a second, and wastes little of it', (rate) => {
    const callers = new Callers(rate);
    for (const account of ['A', 'B', 'C']) callers.arrive(account, rate * 10, 1_000);
    callers.run(60_000);
    expect(callers.dials).toHaveLength(rate * 30);
    expect(callers.mostInASecond()).toBeLessThanOrEqual(rate);
    expect(callers.dials.at(-1)?.at).toBeLessThan(1_000 + 30_000 * 1.15);
  });

  it('lets a new account go before all but two of a hundred calls that wait already', () => {
    const callers = new Callers(2);
    callers.arrive('many', 100, 0);
    callers.run(5_000);
    callers.arrive('one', 1, 5_000);
    callers.run(60_000);
    // Slots within the lead are given out already; beyond them at most j + 1 = 2 of the other account go before.
    expect(callers.dialsBefore('one', 5_000)).toBeLessThanOrEqual(2 + 2);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('keeps the fairness it promises, seed %i', (seed) => {
    const callers = new Callers(4, 30, seed);
    /** When each call came, and the how manieth waiting call of its account it was. */
    const arrivals = new Map<string, { at: number; place: number }>();
    for (let at = 0; at < 30_000; at += 500) {
      callers.run(at);
      for (const account of ['A', 'B', 'C', 'D']) {
        if (callers.random() > (account === 'A' ? 0.95 : 0.5)) continue;
        const waiting = Object.values(callers.queue.waiting).filter(({ accountId }) => accountId === account).length;
        callers.arrive(account, 1, at);
        arrivals.set(`${account}-${at}-0`, { at, place: waiting + 1 });
        callers.run(at);
      }
    }
    callers.run(200_000);
    const excess = [...arrivals].map(([callId, { at, place }]) => {
      const mine = callers.dials.find((dial) => dial.callId === callId);
      const before = callers.dials.filter(
        (dial) =>
          dial.at >= at + SLOT_LEAD_MS && dial.at < (mine?.at ?? Infinity) && dial.accountId !== mine?.accountId,
      );
      const counts = ['A', 'B', 'C', 'D'].map((id) => before.filter(({ accountId }) => accountId === id).length);
      return Math.max(...counts) - (place + 1);
    });
    expect(callers.dials).toHaveLength(arrivals.size);
    expect(Math.max(...[...arrivals.values()].map(({ place }) => place))).toBeGreaterThan(3);
    expect(Math.max(...excess)).toBeLessThanOrEqual(0);
  });

  it('shares evenly between accounts that all want more than there is', () => {
    const callers = new Callers(4);
    callers.arrive('A', 200, 0);
    callers.arrive('B', 40, 1_000);
    callers.arrive('C', 40, 2_000);
    callers.run(16_000);
    const late = callers.dials.filter(({ at }) => at >= 3_000);
    const shares = ['A', 'B', 'C'].map((id) => late.filter(({ accountId }) => accountId === id).length);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(4);
  });

  it('serves the calls of one account in the order they came', () => {
    const callers = new Callers(2, 0);
    for (let i = 0; i < 20; i++) callers.arrive('A', 1, i * 50);
    callers.run(60_000);
    const arrivals = callers.dials.map(({ callId }) => Number(callId.split('-')[1]));
    expect(arrivals).toEqual([...arrivals].sort((a, b) => a - b));
  });

  it('forgets calls that leave without a word, and goes on within a second of their time', () => {
    const callers = new Callers(1);
    callers.arrive('A', 10, 0);
    callers.run(0);
    for (let i = 1; i < 9; i++) callers.leave(`A-0-${i}`);
    callers.run(60_000);
    expect(callers.dials).toHaveLength(2);
    expect(callers.dials[1]?.at).toBeLessThanOrEqual(9 * 1_050 + 2_500);
  });

  it('stays small however many calls ask, each a few times', () => {
    const callers = new Callers(1);
    callers.arrive('A', 1_000, 0);
    callers.run(30_000);
    expect(callers.largest).toBeLessThanOrEqual(60);
    expect(callers.questions).toBeLessThan(1_000 * 8);
  });

  it('gives a call that missed its slot the next one, apart from all others', () => {
    const { queue } = askForSlot(newDialQueue(), { callId: 'a', accountId: 'A', now: 0, callsPerSecond: 1 });
    const first = takeNextSlot(queue, { now: 300, callsPerSecond: 1 });
    expect(first.slotAt).toBeGreaterThanOrEqual(1_000);
    expect(takeNextSlot(first.queue, { now: 300, callsPerSecond: 1 }).slotAt - first.slotAt).toBeGreaterThanOrEqual(
      1_000,
    );
  });
});
