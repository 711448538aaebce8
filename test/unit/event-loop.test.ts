import { setTimeout as sleep } from 'node:timers/promises';
import { watchEventLoop } from '../../src/platform/telemetry/event-loop.js';
import type { Logger } from '../../src/platform/telemetry/logger.js';
import { observe } from '../../src/platform/telemetry/measurements.js';

const LOG_EVERY_MS = 1_500;

/** Blocks the event loop for the given time. Counts CPU time too, so that other work on the CPU makes no difference. */
function busy(ms: number): void {
  const [began, before] = [performance.now(), process.cpuUsage()];
  let used = { user: 0, system: 0 };
  while (used.user + used.system < ms * 1_000 || performance.now() - began < ms) used = process.cpuUsage(before);
}

function watch() {
  const lines: [object, string][] = [];
  const stalls: number[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push([fields, message]) } as unknown as Logger;
  const forget = observe('stall', ({ ms }) => stalls.push(ms));
  const { count, close } = watchEventLoop({ logger, logEveryMs: LOG_EVERY_MS });
  return {
    lines,
    stalls,
    count,
    close: () => {
      forget();
      close();
    },
  };
}

describe('the event loop monitor', () => {
  it('counts each stall, logs the first at once and later ones together', async () => {
    const { lines, stalls, count, close } = watch();
    for (let n = 0; n < 3; n++) {
      await sleep(120);
      busy(250);
    }
    await sleep(120);
    expect(count()).toBeGreaterThanOrEqual(1);
    expect(stalls).toHaveLength(count());
    expect(lines[0]).toEqual([{ ms: expect.any(Number) as number, stalls: 1, count: 1 }, 'event loop stalled']);
    await sleep(LOG_EVERY_MS);
    expect(lines.length).toBeLessThanOrEqual(3);
    expect(lines.at(-1)?.[0]).toMatchObject({ count: count() });
    close();
  });

  it('counts stalls slightly above 100 ms', async () => {
    const { stalls, close } = watch();
    for (let n = 0; n < 10; n++) {
      // Without a turn of the event loop in between, two stalls count as one.
      await new Promise((resolve) => setImmediate(resolve));
      await sleep(3 + (n % 5));
      busy(130);
    }
    await sleep(120);
    expect(stalls.length).toBeGreaterThanOrEqual(9);
    close();
  });

  it('does not count the suspension of the process as a stall', async () => {
    const { lines, count, close } = watch();
    await sleep(120);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await sleep(120);
    expect(count()).toBe(0);
    expect(lines).toEqual([]);
    close();
  });
});
