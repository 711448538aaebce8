import { readFileSync } from 'node:fs';

/** Five times the promised 250 ms, because tests may run on a shared machine. */
export const LIVE_WITHIN_MS = 5 * 250;

/**
 * Time in ms that a process was ready to run but waited for a CPU, as counted by the kernel; 0 if the kernel does not
 * count it. The process itself is not responsible for this time.
 */
function heldUpMs(pid: number): number {
  try {
    const [, waitedNs = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Starts a stopwatch that excludes the time in which processes waited for a CPU. Of several processes, it excludes only
 * the longest wait, since they may have waited at the same time.
 * @returns function that gives the ms since the start
 */
export function startWatch(pids: readonly number[] = [process.pid]): () => number {
  const startedAt = performance.now();
  const before = pids.map(heldUpMs);
  return () => {
    const heldUp = pids.map((pid, index) => heldUpMs(pid) - (before[index] ?? 0));
    return performance.now() - startedAt - Math.max(0, ...heldUp);
  };
}

/**
 * Requests a liveness route continuously while some work runs.
 * @param options.path liveness route; the media server has a different one
 * @param options.pid process that serves it, if not this one
 * @returns slowest response in ms, without time spent waiting for a CPU; Infinity if any status was not 200
 */
export async function slowestLiveAnswer(
  baseUrl: string,
  work: () => Promise<unknown>,
  options: { path?: string; pid?: number | undefined } = {},
): Promise<number> {
  const { path = '/health/live', pid = process.pid } = options;
  let slowest = 0;
  let running = true;
  async function ask(): Promise<void> {
    const watch = startWatch([...new Set([process.pid, pid])]);
    const { status } = await fetch(`${baseUrl}${path}`);
    slowest = Math.max(slowest, status === 200 ? watch() : Number.POSITIVE_INFINITY);
  }
  await ask();
  slowest = 0;
  const asking = (async () => {
    while (running) await ask();
  })();
  try {
    await work();
  } finally {
    running = false;
    await asking;
  }
  return slowest;
}
