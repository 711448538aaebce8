import { createPendingReservations } from '../../src/calls/placing/pending-reservations.js';

const call = (callId: string, accountId = 'acct_1') => ({ accountId, mode: 'live' as const, callId });

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
      expect(pending.hasCapacity(test(n))).toBe(true);
      leaveOne = pending.enter(test(n), 1);
    }
    expect(pending.hasCapacity(test(20))).toBe(false);
    expect(pending.hasCapacity(test(0))).toBe(true);
    expect(pending.hasCapacity(call('live'))).toBe(true);
    leaveOne?.();
    expect(pending.hasCapacity(test(20))).toBe(true);
  });
});
