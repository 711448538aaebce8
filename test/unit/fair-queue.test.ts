import { createFairQueue } from '../../src/platform/fair-queue.js';

/**
 * Simulates groups that always have one request waiting, on a clock that only their work moves. Half of it runs at the
 * same time.
 */
async function simulate(p: {
  /** Duration of the work of each group, and when its first request comes. */
  groups: Readonly<Record<string, { ms: number; from?: number }>>;
  untilMs: number;
}): Promise<{ used: Map<string, number>; log: { group: string; at: number }[] }> {
  let time = 0;
  const queue = createFairQueue({ maxRunning: 1, share: 'time', now: () => time });
  const used = new Map<string, number>();
  const log: { group: string; at: number }[] = [];
  const waiting: Promise<void>[] = [];
  const came = new Set<string>();
  function come(): void {
    for (const [group, { ms, from = 0 }] of Object.entries(p.groups)) {
      if (came.has(group) || time < from) continue;
      came.add(group);
      waiting.push(send(group, ms), send(group, ms));
    }
  }
  async function send(group: string, ms: number): Promise<void> {
    while (time < p.untilMs) {
      await queue.run({ groups: [group] }, async () => {
        log.push({ group, at: time });
        time += ms;
        used.set(group, (used.get(group) ?? 0) + ms);
        come();
      });
    }
  }
  come();
  for (let next = 0; next < waiting.length; next++) await waiting[next];
  return { used, log };
}

describe('a queue that shares time', () => {
  it('gives groups with long and short work the same time', async () => {
    const { used } = await simulate({ groups: { long: { ms: 400 }, short: { ms: 20 } }, untilMs: 60_000 });
    const [long = 0, short = 0] = [used.get('long'), used.get('short')];
    expect(long + short).toBeGreaterThanOrEqual(60_000);
    expect(short / long).toBeGreaterThan(0.9);
    expect(short / long).toBeLessThan(1.1);
  });

  it('serves a new group first until it has used as much as the others lately', async () => {
    const groups = { a: { ms: 100 }, b: { ms: 100 }, new: { ms: 100, from: 30_000 } };
    const { log } = await simulate({ groups, untilMs: 40_000 });
    const since = log.filter(({ at }) => at >= 30_000).map(({ group }) => group);
    const first = since.findIndex((group) => group === 'new');
    expect(first).toBeLessThanOrEqual(1);
    const served = since.slice(first, first + 10);
    expect(served).toEqual(served.map(() => 'new'));
  });

  it('lets a group that was alone wait for new ones for some seconds only', async () => {
    const groups = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((id) => [id, { ms: 100, from: 60_000 }]));
    const { log } = await simulate({ groups: { ...groups, alone: { ms: 100 } }, untilMs: 90_000 });
    const waits = log
      .filter(({ group }) => group === 'alone')
      .map(({ at }, index, all) => at - (all[index - 1]?.at ?? 0));
    expect(Math.max(...waits)).toBeGreaterThan(1_000);
    expect(Math.max(...waits)).toBeLessThan(15_000);
  });

  it('also counts work that fails', async () => {
    let time = 0;
    const queue = createFairQueue({ maxRunning: 1, share: 'time', now: () => time });
    const log: string[] = [];
    const fail = async () => {
      time += 1_000;
      throw new Error('failed');
    };
    await expect(queue.run({ groups: ['a'] }, fail)).rejects.toThrow('failed');
    let free = () => {};
    const first = queue.run({}, () => new Promise<void>((resolve) => (free = resolve)));
    const rest = ['a', 'b'].map((group) => queue.run({ groups: [group] }, async () => void log.push(group)));
    free();
    await Promise.all([first, ...rest]);
    expect(log).toEqual(['b', 'a']);
  });
});
