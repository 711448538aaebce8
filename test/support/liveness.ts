/** Five times what is promised, because the machine that runs the tests is shared. */
export const LIVE_WITHIN_MS = 5 * 250;

/**
 * Asks whether a process lives again and again while some work runs.
 * @param path of the media server it is another one
 * @returns how long the slowest answer took, in ms; Infinity when one was not 200
 */
export async function slowestLiveAnswer(
  baseUrl: string,
  work: () => Promise<unknown>,
  path = '/health/live',
): Promise<number> {
  let slowest = 0;
  let running = true;
  async function ask(): Promise<void> {
    const startedAt = performance.now();
    const { status } = await fetch(`${baseUrl}${path}`);
    slowest = Math.max(slowest, status === 200 ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
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
