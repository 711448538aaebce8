import { startFrameClock } from '../../src/conversation/frame-clock.js';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the frame clock', () => {
  it('beats on an even grid of 20 ms that does not drift, and stops', async () => {
    const origin = performance.now();
    const now = () => performance.now() - origin;
    const beats: { due: number; at: number }[] = [];
    const stop = startFrameClock(now, (due) => beats.push({ due, at: now() }));
    await wait(1_000);
    stop();
    const count = beats.length;
    const [first] = beats;
    expect(count).toBeGreaterThan(10);
    for (const { due, at } of beats) {
      const steps = (due - (first?.due ?? 0)) / 20;
      expect(Math.abs(steps - Math.round(steps))).toBeLessThan(1e-6);
      // A timer may fire a little before its time.
      expect(at).toBeGreaterThan(due - 2);
    }
    expect(new Set(beats.map(({ due }) => due)).size).toBe(count);
    await wait(100);
    expect(beats).toHaveLength(count);
  });

  it('leaves out the beats it missed, and comes back to its grid', () => {
    jest.useFakeTimers();
    try {
      let ms = 0;
      const due: number[] = [];
      const stop = startFrameClock(
        () => ms,
        (at) => due.push(at),
      );
      const fire = (at: number) => {
        ms = at;
        jest.runOnlyPendingTimers();
      };
      for (const at of [20, 41, 133, 140]) fire(at);
      stop();
      fire(200);
      expect(due).toEqual([20, 40, 120, 140]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('can be stopped by a beat', () => {
    jest.useFakeTimers();
    try {
      let beats = 0;
      const stop = startFrameClock(
        () => 0,
        () => {
          beats++;
          stop();
        },
      );
      jest.runAllTimers();
      expect(beats).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });
});
