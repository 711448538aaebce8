import { createRecentEntries } from '../../src/platform/recent-entries.js';

describe('recent entries', () => {
  it('are forgotten after their time', () => {
    let now = 0;
    const entries = createRecentEntries<number>({ maxEntries: 10, maxAgeMs: 100, now: () => now });
    entries.set('a', 1);
    now = 99;
    expect(entries.get('a')).toBe(1);
    now = 100;
    expect(entries.get('a')).toBeUndefined();
  });

  it('count from the latest value', () => {
    let now = 0;
    const entries = createRecentEntries<number>({ maxEntries: 10, maxAgeMs: 100, now: () => now });
    entries.set('a', 1);
    now = 60;
    entries.set('a', 2);
    now = 120;
    expect(entries.get('a')).toBe(2);
    entries.delete('a');
    expect(entries.get('a')).toBeUndefined();
  });

  it('are bounded: the oldest makes room', () => {
    const entries = createRecentEntries<number>({ maxEntries: 2, maxAgeMs: 100, now: () => 0 });
    entries.set('a', 1);
    entries.set('b', 2);
    entries.set('a', 3);
    entries.set('c', 4);
    expect([entries.get('a'), entries.get('b'), entries.get('c')]).toEqual([3, undefined, 4]);
  });
});
