import { setTimeout as sleep } from 'node:timers/promises';
import { watchEventLoop } from '../../src/platform/telemetry/event-loop.js';
import type { Logger } from '../../src/platform/telemetry/logger.js';

const LOG_EVERY_MS = 1_500;

/** By its own time, too, so that it is work also where the processor is shared. */
function busy(ms: number): void {
  const [began, before] = [performance.now(), process.cpuUsage()];
  let used = { user: 0, system: 0 };
  while (used.user + used.system < ms * 1_000 || performance.now() - began < ms) used = process.cpuUsage(before);
}

function watch() {
  const lines: [object, string][] = [];
  const stalls: number[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push([fields, message]) } as unknown as Logger;
  return { lines, stalls, ...watchEventLoop({ logger, onStall: (ms) => stalls.push(ms), logEveryMs: LOG_EVERY_MS }) };
}

describe('the watch over the event loop', () => {
  it('counts each stall and logs the first at once, the others together', async () => {
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

  it('counts stalls that are little longer than 100 ms', async () => {
    const { stalls, close } = watch();
    for (let n = 0; n < 10; n++) {
      // Two stalls are one where nothing looks in between.
      await new Promise((resolve) => setImmediate(resolve));
      await sleep(3 + (n % 5));
      busy(130);
    }
    await sleep(120);
    expect(stalls.length).toBeGreaterThanOrEqual(9);
    close();
  });

  it('does not take a process that was suspended for a stall', async () => {
    const { lines, count, close } = watch();
    await sleep(120);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await sleep(120);
    expect(count()).toBe(0);
    expect(lines).toEqual([]);
    close();
  });
});
