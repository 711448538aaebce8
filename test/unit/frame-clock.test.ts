import { observe } from '../../src/platform/telemetry/measurements.js';
import { createFrameClock } from '../../src/voice/media/frame-clock.js';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the frame clock', () => {
  it('ticks on a grid of 20 ms without drift, until it is stopped', async () => {
    const beats: { due: number; at: number }[] = [];
    const stop = createFrameClock().start((due) => beats.push({ due, at: performance.now() }));
    await wait(1_000);
    stop();
    const count = beats.length;
    const [first] = beats;
    expect(count).toBeGreaterThan(10);
    for (const { due, at } of beats) {
      expect((due - (first?.due ?? 0)) % 20).toBe(0);
      expect(at).toBeGreaterThanOrEqual(due);
    }
    expect(new Set(beats.map(({ due }) => due)).size).toBe(count);
    await wait(100);
    expect(beats).toHaveLength(count);
  });

  describe('with a controlled clock', () => {
    let ms: number;
    let clock: ReturnType<typeof createFrameClock>;
    /** The name of each ticking stream and the time when the tick was due. */
    let due: [string, number][];
    const beat = (name: string) => clock.start((dueMs) => due.push([name, dueMs]));
    /** Sets the clock to this time and fires the next timer. */
    const fire = (at: number) => {
      ms = at;
      jest.runOnlyPendingTimers();
    };

    beforeEach(() => {
      jest.useFakeTimers();
      ms = 1_000;
      due = [];
      clock = createFrameClock(() => ms);
    });
    afterEach(() => jest.useRealTimers());

    it('skips missed ticks and returns to its grid', () => {
      const stop = beat('a');
      for (const at of [1_001, 1_021, 1_113, 1_120]) fire(at);
      stop();
      fire(1_200);
      expect(due.map(([, at]) => at)).toEqual([1_000, 1_020, 1_100, 1_120]);
    });

    it('assigns listeners to milliseconds in rotation', () => {
      for (let i = 0; i < 60; i++) beat(`call ${i}`);
      fire(1_019);
      const times = due.map(([, at]) => at);
      expect(times).toEqual(Array.from({ length: 60 }, (_, i) => 1_000 + Math.floor(i / 3)));
    });

    it('runs due ticks once on request, without its timer', () => {
      beat('a');
      beat('b');
      ms = 1_000.9;
      clock.turn();
      expect(due).toEqual([['a', 1_000]]);
      ms = 1_021;
      clock.turn();
      clock.turn();
      expect(due.slice(1)).toEqual([
        ['a', 1_020],
        ['b', 1_021],
      ]);
      fire(1_021);
      expect(due).toHaveLength(3);
    });

    it('keeps ticking after a requested run', () => {
      beat('a');
      ms = 1_003;
      clock.turn();
      fire(1_004);
      fire(1_020);
      expect(due.map(([, at]) => at)).toEqual([1_000, 1_020]);
    });

    it('can be stopped inside a tick and started again', () => {
      let beats = 0;
      const stop = clock.start(() => {
        beats++;
        stop();
      });
      jest.runAllTimers();
      expect(beats).toBe(1);
      expect(jest.getTimerCount()).toBe(0);
      ms = 50_000;
      beat('later');
      fire(50_001);
      expect(due).toEqual([['later', 50_000]]);
    });

    it('can be started inside a tick, with a single timer', () => {
      const stop = clock.start(() => {
        stop();
        beat('a');
        beat('b');
      });
      fire(1_000);
      expect(jest.getTimerCount()).toBe(1);
      for (const at of [1_001, 1_002, 1_003]) fire(at);
      expect(jest.getTimerCount()).toBe(1);
      expect(due.map(([name]) => name)).toEqual(expect.arrayContaining(['a', 'b']));
    });

    it('reports the latest tick of every 20 ms, and each one that a call has missed', () => {
      const reported: number[] = [];
      const forget = observe('frameLateness', ({ ms: lateMs }) => reported.push(lateMs));
      try {
        for (const name of ['a', 'b', 'c']) beat(name);
        for (const at of [1_000, 1_001, 1_008, 1_020]) fire(at);
        expect(reported).toEqual([0, 6]);
        reported.length = 0;
        fire(1_101);
        expect(reported).toEqual([80, 60, 40, 20, 19]);
      } finally {
        forget();
      }
    });

    it('stops one listener and continues with the others', () => {
      const stopFirst = beat('a');
      beat('b');
      stopFirst();
      stopFirst();
      fire(1_001);
      expect(due).toEqual([['b', 1_001]]);
      expect(jest.getTimerCount()).toBe(1);
    });
  });
});
