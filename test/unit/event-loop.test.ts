import { setTimeout as sleep } from 'node:timers/promises';
import { watchEventLoop } from '../../src/platform/telemetry/event-loop.js';
import type { Logger } from '../../src/platform/telemetry/logger.js';
import { observe } from '../../src/platform/telemetry/measurements.js';

const LOG_EVERY_MS = 1_500;

/**
 * Blocks the event loop for the given time.
 * @returns whether the process had a core for itself most of this time. Otherwise the monitor counts no stall, because
 *   it cannot tell a busy machine from a suspended process.
 */
function busy(ms: number): boolean {
  const [began, before] = [performance.now(), process.cpuUsage()];
  while (performance.now() - began < ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 > 0.6 * (performance.now() - began);
}

/** Lets `stall` block the event loop until it had a core for itself so many times. */
async function stallOften(times: number, stall: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (let done = 0; done < times;) {
    if (Date.now() > deadline) throw new Error('The machine is too busy.');
    done += Number(await stall());
  }
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

jest.setTimeout(90_000);

describe('the event loop monitor', () => {
  it('counts each stall, logs the first at once and later ones together', async () => {
    const { lines, stalls, count, close } = watch();
    const beganAt = performance.now();
    await stallOften(3, async () => {
      await sleep(120);
      return busy(250);
    });
    await sleep(120);
    expect(count()).toBeGreaterThanOrEqual(3);
    expect(stalls).toHaveLength(count());
    expect(lines[0]).toEqual([{ ms: expect.any(Number) as number, stalls: 1, count: 1 }, 'event loop stalled']);
    await sleep(LOG_EVERY_MS);
    expect(lines.length).toBeLessThanOrEqual(1 + (performance.now() - beganAt) / LOG_EVERY_MS);
    expect(lines.at(-1)?.[0]).toMatchObject({ count: count() });
    close();
  });

  it('counts stalls slightly above 100 ms', async () => {
    const { stalls, close } = watch();
    let n = 0;
    await stallOften(10, async () => {
      // Without a turn of the event loop in between, two stalls count as one.
      await new Promise((resolve) => setImmediate(resolve));
      await sleep(3 + (n++ % 5));
      return busy(130);
    });
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
