import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';

const call = (callId: string, accountId = 'acct_1') => ({
  accountId,
  mode: 'live' as const,
  direction: 'outbound' as const,
  callId,
});

describe('pending reservations', () => {
  it('are limited, and a decided one makes room for the next', () => {
    const pending = createPendingReservations();
    const first = pending.enter(call('a'), 2);
    expect(pending.enter(call('b'), 2)).toBeDefined();
    expect(pending.enter(call('c'), 2)).toBeUndefined();
    first?.();
    expect(pending.enter(call('c'), 2)).toBeDefined();
  });

  it('count a call once for all its requests, until the last one is decided', () => {
    const pending = createPendingReservations();
    const requests = Array.from({ length: 5 }, () => pending.enter(call('a'), 1));
    expect(requests).not.toContain(undefined);
    requests.slice(1).forEach((decided) => decided?.());
    expect(pending.enter(call('b'), 1)).toBeUndefined();
    requests[0]?.();
    expect(pending.enter(call('b'), 1)).toBeDefined();
  });

  it('do not limit those of another account or mode', () => {
    const pending = createPendingReservations();
    pending.enter(call('a'), 1);
    expect(pending.enter(call('b', 'acct_2'), 1)).toBeDefined();
    expect(pending.enter({ ...call('c'), mode: 'test' }, 1)).toBeDefined();
  });

  it('of test calls leave room for live calls', () => {
    const pending = createPendingReservations();
    const test = (n: number) => ({ ...call(`t${n}`, `acct_${n}`), mode: 'test' as const });
    let leaveOne: (() => void) | undefined;
    for (let n = 0; n < 20; n++) {
      leaveOne = pending.enter(test(n), 1);
      expect(leaveOne).toBeDefined();
    }
    expect(pending.enter(test(20), 1)).toBeUndefined();
    expect(pending.enter(test(0), 1)).toBeDefined();
    expect(pending.enter(call('live'), 1)).toBeDefined();
    leaveOne?.();
    expect(pending.enter(test(20), 1)).toBeDefined();
  });

  it('of live calls keep their room when they are decided slowly, until test calls have made room', () => {
    const pending = createPendingReservations();
    const test = (n: number) => ({ ...call(`t${n}`, `acct_${n}`), mode: 'test' as const });
    const roomOf = (mode: 'live' | 'test') => {
      const entered = Array.from({ length: 30 }, (_, n) => pending.enter({ ...call(`${mode}${n}`, `a${n}`), mode }, 1));
      for (const release of entered) release?.();
      return entered.filter((release) => release !== undefined).length;
    };
    const slowLiveCall = (since: number) => pending.recordDecision({ mode: 'live', since, isSlow: true });
    pending.enter(test(0), 1)?.();
    const began = performance.now();
    slowLiveCall(began);
    expect([roomOf('live'), roomOf('test')]).toEqual([18, 1]);
    // It began before test calls made room.
    slowLiveCall(began);
    expect(roomOf('live')).toBe(18);
    slowLiveCall(performance.now());
    expect([roomOf('live'), roomOf('test')]).toEqual([9, 1]);
  });

  it('of live calls lose room if they are still decided slowly, however quickly test calls are', () => {
    const pending = createPendingReservations();
    const room = [24, 12, 6, 4, 4];
    for (const size of room) {
      const entered = Array.from({ length: 30 }, (_, n) =>
        pending.enter({ ...call(`i${size}${n}`, `a${n}`), direction: 'inbound' }, 1),
      );
      expect(entered.filter((release) => release !== undefined)).toHaveLength(size);
      for (const release of entered) release?.();
      for (let n = 0; n < 4; n++) {
        pending.enter({ ...call(`t${n}`), mode: 'test' }, 1)?.();
        pending.recordDecision({ mode: 'test', since: performance.now(), isSlow: false });
      }
      // The first one is excused.
      const began = performance.now();
      for (let n = 0; n < (size === 24 ? 2 : 1); n++) {
        pending.recordDecision({ mode: 'live', since: Math.max(began, performance.now()), isSlow: true });
      }
    }
  });

  it('of live calls lose room at once if there was no test call', () => {
    const pending = createPendingReservations();
    pending.recordDecision({ mode: 'live', since: performance.now(), isSlow: true });
    const entered = Array.from({ length: 30 }, (_, n) => pending.enter(call(`live${n}`, `a${n}`), 1));
    expect(entered.filter((release) => release !== undefined)).toHaveLength(9);
  });

  it('of outbound live calls leave a quarter to inbound ones', () => {
    const pending = createPendingReservations();
    const enter = (direction: 'inbound' | 'outbound') => {
      const entered = Array.from({ length: 30 }, (_, n) =>
        pending.enter({ ...call(`${direction}${n}`, `acct_${direction}${n}`), direction }, 1),
      );
      return entered.filter((release) => release !== undefined).length;
    };
    expect(enter('outbound')).toBe(18);
    expect(enter('inbound')).toBe(6);
  });

  it('admit the waiting account that was served longest ago, and its inbound calls first', async () => {
    const pending = createPendingReservations();
    const releases = Array.from({ length: 6 }, (_, n) => {
      const inbound = { ...call(`i${n}`, `acct_i${n}`), direction: 'inbound' as const };
      return pending.enter(inbound, 1);
    });
    for (let n = 0; n < 18; n++) releases.push(pending.enter(call(`o${n}`, `acct_o${n}`), 1));
    const order: string[] = [];
    const waiting = ['acct_o0', 'acct_new', 'acct_new'].map(async (accountId, n) => {
      const direction = n === 2 ? ('inbound' as const) : ('outbound' as const);
      const release = await pending.wait({ ...call(`w${n}`, accountId), direction }, 1, 1_000);
      if (release) order.push(`w${n}`);
      release?.();
    });
    for (const release of releases.reverse()) {
      release?.();
      await Promise.resolve();
    }
    await Promise.all(waiting);
    expect(order).toEqual(['w2', 'w1', 'w0']);
  });

  it('stop waiting without a slot when the time is over', async () => {
    const pending = createPendingReservations();
    const release = pending.enter(call('a'), 1);
    expect(await pending.wait(call('b'), 1, 20)).toBeUndefined();
    release?.();
    expect(pending.enter(call('c'), 1)).toBeDefined();
  });
});
