import { readFileSync } from 'node:fs';

/** Five times what is promised, because the machine that runs the tests is shared. */
export const LIVE_WITHIN_MS = 5 * 250;

/**
 * How long a process has been ready to run while the machine ran others, by the kernel's count, in ms; 0 where the kernel
 * does not count. It is no time that anything in the process took.
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
 * Starts a watch that stands still while the machine runs others: what it shows is the time of the processes themselves.
 * Of several, only the one that was held up longest counts, since they may have been held up at the same time.
 * @returns ms since the start
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
 * Asks whether a process lives again and again while some work runs.
 * @param options.path of the media server it is another one
 * @param options.pid of the process that answers, where it is not this one
 * @returns how long the slowest answer took, in ms, without what the machine ran others for; Infinity when one was not 200
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
