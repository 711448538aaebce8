import fc from 'fast-check';
import {
  createLeasedLimiter,
  type LimitOutcome,
  type LimitStore,
  type LimitWindow,
} from '../../src/platform/http/rate-limits/leased-limiter.js';

const WINDOW_MS = 60_000;

/** A store in memory with windows as in MongoDB, and a clock that the test controls. */
function createStore() {
  let time = 1_000_000;
  let isAway = false;
  let commands = 0;
  const windows = new Map<string, LimitWindow>();
  /** Commands on their way to the store, or back; none while responses arrive at once. */
  const delayed: (() => void)[] = [];
  let isDelaying = false;

  async function command<T>(run: () => T): Promise<T> {
    commands += 1;
    if (isAway) throw new Error('no server');
    if (!isDelaying) return run();
    await new Promise<void>((resolve) => delayed.push(resolve));
    const result = run();
    await new Promise<void>((resolve) => delayed.push(resolve));
    return result;
  }

  const store: LimitStore = {
    join: (key, points, asHolder) =>
      command(() => {
        const present = windows.get(key);
        const isOpen = present !== undefined && present.expiresAt > time;
        const window = isOpen ? present : { expiresAt: time + WINDOW_MS, points: 0, holders: 0 };
        const joined = { ...window, points: window.points + points, holders: window.holders + (asHolder ? 1 : 0) };
        windows.set(key, joined);
        return joined;
      }),
    take: (key, expiresAt, points) =>
      command(() => {
        const present = windows.get(key);
        if (present?.expiresAt !== expiresAt) return null;
        const taken = { ...present, points: present.points + points };
        windows.set(key, taken);
        return taken;
      }),
  };
  const process = (maxLeases?: number) =>
    createLeasedLimiter({
      store,
      now: () => time,
      wallClock: () => time,
      fallback: async () => ({ allowed: true, remaining: -1, msBeforeNext: 1 }),
      ...(maxLeases === undefined ? {} : { maxLeases }),
    });
  return {
    process,
    windows,
    commands: () => commands,
    wait: (ms: number) => void (time += ms),
    goAway: () => void (isAway = true),
    comeBack: () => void (isAway = false),
    delayed,
    delay: () => void (isDelaying = true),
  };
}

describe('leases of a rate limit', () => {
  it('admit exactly the limit in one process, with falling and truthful remaining and reset', async () => {
    const { process, wait, commands } = createStore();
    const limiter = process();
    for (let n = 1; n <= 600; n++) {
      const { allowed, remaining, msBeforeNext } = await limiter.consume('key', 600);
      expect({ allowed, remaining }).toEqual({ allowed: true, remaining: 600 - n });
      expect(msBeforeNext).toBe(WINDOW_MS - (n - 1) * 50);
      wait(50);
    }
    expect(await limiter.consume('key', 600)).toEqual({ allowed: false, remaining: 0, msBeforeNext: 30_000 });
    expect(commands()).toBeLessThan(150);
    wait(30_000);
    expect(await limiter.consume('key', 600)).toMatchObject({ allowed: true, remaining: 599 });
  });

  it('reject in memory once the limit is reached', async () => {
    const { process, commands, windows } = createStore();
    const limiter = process();
    for (let n = 0; n < 10; n++) await limiter.consume('key', 10);
    await limiter.consume('key', 10);
    const before = commands();
    for (let n = 0; n < 1_000; n++) expect(limiter.consume('key', 10)).toMatchObject({ allowed: false });
    expect(commands()).toBe(before);
    expect(windows.get('key')!.points).toBe(10);
  });

  it('are not taken in advance for limits below 40', async () => {
    const { process, commands } = createStore();
    const limiter = process();
    for (let n = 0; n < 30; n++) await limiter.consume('key', 39);
    expect(commands()).toBe(30);
  });

  it('obey a limit that is lowered or raised in the window', async () => {
    const { process } = createStore();
    const limiter = process();
    for (let n = 0; n < 100; n++) await limiter.consume('key', 600);
    expect(await limiter.consume('key', 50)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiter.consume('key', 600)).toMatchObject({ allowed: true, remaining: 499 });
  });

  it('serve concurrent requests with one command', async () => {
    const { process, commands } = createStore();
    const limiter = process();
    const all = await Promise.all(Array.from({ length: 200 }, async () => limiter.consume('key', 50)));
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(commands()).toBeLessThanOrEqual(2);
  });

  it('fall back while the store is unavailable, and continue the window when it is back', async () => {
    const { process, goAway, comeBack } = createStore();
    const limiter = process();
    expect(await limiter.consume('key', 10)).toMatchObject({ remaining: 9 });
    goAway();
    expect(await limiter.consume('key', 10)).toMatchObject({ remaining: -1 });
    expect(await limiter.consume('other', 10)).toMatchObject({ remaining: -1 });
    comeBack();
    expect(await limiter.consume('key', 10)).toMatchObject({ remaining: 8 });
  });

  it('need bounded memory for 100,000 keys, and count exactly without a lease', async () => {
    const { process, wait } = createStore();
    const limiter = process(1_000);
    for (let n = 0; n < 100_000; n++) await limiter.consume(`key ${n}`, 3);
    expect(limiter.size()).toBe(1_000);
    const last = [];
    for (let n = 0; n < 4; n++) last.push((await limiter.consume('key 99999', 3)).allowed);
    expect(last).toEqual([true, true, false, false]);
    wait(WINDOW_MS);
    await limiter.consume('another key', 3);
    expect(limiter.size()).toBe(1);
  });
});

interface Step {
  kind: 'request' | 'response' | 'wait';
  pick: number;
}

describe('a limit over several processes', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.oneof(
      { weight: 10, arbitrary: fc.constant('request' as const) },
      { weight: 12, arbitrary: fc.constant('response' as const) },
      { weight: 1, arbitrary: fc.constant('wait' as const) },
    ),
    pick: fc.nat(1_000_000),
  });
  const settled = async () => {
    for (let n = 0; n < 8; n++) await Promise.resolve();
  };

  it('is never exceeded, and a rejected request has had 95 % of it, under any schedule', async () => {
    let rejections = 0;
    const schedule = fc.record({
      limit: fc.constantFrom(1, 19, 20, 60, 100, 600),
      count: fc.integer({ min: 1, max: 5 }),
      steps: fc.array(step, { minLength: 300, maxLength: 2_500 }),
    });
    await fc.assert(
      fc.asyncProperty(schedule, async ({ limit, count, steps }) => {
        const world = createStore();
        world.delay();
        const processes = Array.from({ length: count }, () => world.process());
        let sent = 0;
        /** Numbers of the admitted requests, in the order in which they were sent. */
        const admitted: number[] = [];
        /** For each rejection, how many requests had been sent. */
        const rejected: number[] = [];
        const send = (process: number) => {
          const number = ++sent;
          const note = ({ allowed }: LimitOutcome) => void (allowed ? admitted.push(number) : rejected.push(sent));
          const given = processes[process]!.consume('key', limit);
          if (given instanceof Promise) void given.then(note);
          else note(given);
        };
        for (const { kind, pick } of steps) {
          if (kind === 'wait') world.wait(pick % 10);
          else if (kind === 'response') world.delayed.splice(pick % Math.max(1, world.delayed.length), 1)[0]?.();
          else send(pick % count);
          await settled();
        }
        while (world.delayed.length > 0) {
          world.delayed.shift()!();
          await settled();
        }
        expect(admitted.length).toBeLessThanOrEqual(limit);
        expect(admitted.length + rejected.length).toBe(sent);
        for (const before of rejected) {
          expect(admitted.filter((number) => number <= before).length).toBeGreaterThanOrEqual(limit * 0.95);
        }
        rejections += rejected.length;
      }),
      { numRuns: 60 },
    );
    expect(rejections).toBeGreaterThan(100);
  }, 120_000);

  it('loses at most 5 % to processes that stop in the middle of their leases', async () => {
    let rejections = 0;
    const bursts = fc.array(fc.record({ process: fc.nat(4), count: fc.integer({ min: 1, max: 120 }) }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(60, 100, 600, 1_200), bursts, async (limit, all) => {
        const world = createStore();
        const processes = Array.from({ length: 5 }, () => world.process());
        let admitted = 0;
        const send = async (process: number) => {
          const { allowed } = await processes[process]!.consume('key', limit);
          if (allowed) admitted += 1;
          return allowed;
        };
        for (const { process, count } of all) for (let n = 0; n < count; n++) await send(process);
        for (let n = 0; n <= limit; n++) if (!(await send(0))) break;
        expect(admitted).toBeLessThanOrEqual(limit);
        expect(admitted).toBeGreaterThanOrEqual(limit * 0.95);
        rejections += 1;
      }),
      { numRuns: 200 },
    );
    expect(rejections).toBe(200);
  }, 60_000);
});
