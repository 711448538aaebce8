import { readFileSync } from 'node:fs';

/** Five times the documented 250 ms, because tests may run on a machine that other processes use. */
export const LIVE_WITHIN_MS = 5 * 250;

/**
 * Returns how long, in ms, a process was ready to run but waited for a CPU; 0 if the kernel does not count this. The
 * process is not responsible for this time.
 */
function cpuWaitMs(pid: number): number {
  try {
    const [, waitedNs = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Starts a stopwatch that leaves out the time in which processes waited for a CPU. If there are several processes, it
 * leaves out only the longest wait, because they may have waited at the same time.
 * @returns a function that returns the ms since the start
 */
export function startWatch(pids: readonly number[] = [process.pid]): () => number {
  const startedAt = performance.now();
  const before = pids.map(cpuWaitMs);
  return () => {
    const waited = pids.map((pid, index) => cpuWaitMs(pid) - (before[index] ?? 0));
    return performance.now() - startedAt - Math.max(0, ...waited);
  };
}

/**
 * Requests a liveness route again and again while some work runs.
 * @param options.path path of the liveness route; the media server has another one
 * @param options.pid the process that serves the route, if it is not this one
 * @returns the time of the slowest response in ms, without the time spent waiting for a CPU; Infinity if any status was
 *   not 200
 */
export async function slowestLivenessResponse(
  baseUrl: string,
  work: () => Promise<unknown>,
  options: { path?: string; pid?: number | undefined } = {},
): Promise<number> {
  const { path = '/health/live', pid = process.pid } = options;
  let slowest = 0;
  let running = true;
  async function measureOnce(): Promise<void> {
    const watch = startWatch([...new Set([process.pid, pid])]);
    const { status } = await fetch(`${baseUrl}${path}`);
    slowest = Math.max(slowest, status === 200 ? watch() : Number.POSITIVE_INFINITY);
  }
  await measureOnce();
  slowest = 0;
  const asking = (async () => {
    while (running) await measureOnce();
  })();
  try {
    await work();
  } finally {
    running = false;
    await asking;
  }
  return slowest;
}
