import { newDialQueue, requestDialSlot, type DialQueue } from '../../src/telephony/pacing/dial-queue.js';

const INTERVAL_MS = 1_050;

interface Waiting {
  accountId: string;
  since: number;
  asksAt: number;
}

/**
 * A carrier account with one call per second. Greedy accounts place the next call as soon as one was dialed, so that
 * each always has ten waiting calls.
 */
class BusyCarrierAccount {
  private queue: DialQueue = newDialQueue();
  private readonly waiting = new Map<string, Waiting>();
  private lastNumber = 0;
  readonly dialed: { accountId: string; waitedMs: number }[] = [];

  constructor(private readonly isGreedy: (accountId: string) => boolean = () => false) {}

  place(accountId: string, at: number): string {
    const callId = `call_${++this.lastNumber}`;
    this.waiting.set(callId, { accountId, since: at, asksAt: at });
    return callId;
  }

  cancel(callId: string): void {
    this.waiting.delete(callId);
  }

  runUntil(end: number): void {
    for (;;) {
      const [next] = [...this.waiting].toSorted(([, a], [, b]) => a.asksAt - b.asksAt);
      if (next === undefined || next[1].asksAt > end) return;
      const [callId, { accountId, since, asksAt: now }] = next;
      const { queue, answer } = requestDialSlot(this.queue, { callId, accountId, now, callsPerSecond: 1 });
      this.queue = queue;
      if (!answer.granted) {
        this.waiting.set(callId, { accountId, since, asksAt: answer.retryAt });
        continue;
      }
      this.waiting.delete(callId);
      this.dialed.push({ accountId, waitedMs: answer.slotAt - since });
      if (this.isGreedy(accountId)) this.place(accountId, answer.slotAt + 200);
    }
  }

  waitsOf(accountId: string): number[] {
    return this.dialed.filter((call) => call.accountId === accountId).map(({ waitedMs }) => waitedMs);
  }
}

const GREEDY = Array.from({ length: 5 }, (_, index) => `greedy${index}`);

function busyWithGreedyAccounts(): BusyCarrierAccount {
  const carrier = new BusyCarrierAccount((accountId) => GREEDY.includes(accountId));
  for (const accountId of GREEDY) for (let count = 0; count < 10; count++) carrier.place(accountId, 0);
  return carrier;
}

describe('five accounts that always have calls waiting for a dial slot', () => {
  it('delay the single calls of another account by two slots at most', () => {
    const carrier = busyWithGreedyAccounts();
    for (let at = 60_000; at < 1_200_000; at += 30_411) {
      carrier.runUntil(at);
      carrier.place('other', at);
    }
    carrier.runUntil(1_300_000);
    const waits = carrier.waitsOf('other');
    expect(waits).toHaveLength(38);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * INTERVAL_MS);
  });

  it('do not go first by cancelling their calls', () => {
    const carrier = busyWithGreedyAccounts();
    for (let at = 60_000; at < 600_000; at += 2_500) {
      carrier.runUntil(at);
      // Five more accounts place a call and cancel it while it waits, again and again.
      const placed = Array.from({ length: 5 }, (_, index) => carrier.place(`cancelling${index}`, at));
      if (at % 40_000 === 0) carrier.place('other', at);
      carrier.runUntil(at + 400);
      for (const callId of placed) carrier.cancel(callId);
    }
    const waits = carrier.waitsOf('other');
    expect(waits).toHaveLength(13);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3 * INTERVAL_MS);
  });
});

describe('many accounts that each place few calls', () => {
  it('do not keep out an account that places many', () => {
    const carrier = new BusyCarrierAccount((accountId) => accountId === 'busy');
    for (let count = 0; count < 10; count++) carrier.place('busy', 0);
    carrier.runUntil(30_000);
    const before = carrier.waitsOf('busy').length;
    // Each places a call every 160 s, and all together 1.25 calls per second.
    for (let at = 30_000; at < 150_000; at += 800) {
      carrier.runUntil(at);
      carrier.place(`rare${(at / 800) % 200}`, at);
    }
    carrier.runUntil(150_000);
    expect(carrier.waitsOf('busy').length - before).toBeGreaterThanOrEqual(3);
  });
});
