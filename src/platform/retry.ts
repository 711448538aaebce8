import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats an attempt until it succeeds, with pauses that double. A pause does not keep the process running.
 * @param limits.until ms since the epoch; no attempt begins later
 * @param limits.signal ends the pause between attempts with an AbortError
 * @throws the last attempt's error when the next one would begin too late
 */
export async function retryUntil<T>(
  attempt: () => Promise<T>,
  limits: { until: number; firstPauseMs: number; longestPauseMs: number; signal?: AbortSignal },
): Promise<T> {
  const { until, firstPauseMs, longestPauseMs, signal } = limits;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() + pauseMs > until) throw error;
    }
    await sleep(pauseMs, undefined, { ref: false, ...(signal && { signal }) });
  }
}
