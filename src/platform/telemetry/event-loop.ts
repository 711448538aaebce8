import type { Logger } from './logger.js';

/** Sampling interval. Short, because a stall is measured as its length minus the time until the next sample was due. */
const LOOK_EVERY_MS = 10;
/** Audio frames are 20 ms long and health is checked every second, so longer stalls have visible effects. */
const STALL_MS = 100;
const LOG_EVERY_MS = 10_000;
/** Minimum share of CPU time in a stall, to ignore suspension (no CPU time) but not a shared CPU (some CPU time). */
const LEAST_WORK_SHARE = 0.5;

export interface EventLoopWatch {
  /** Number of stalls since the start. */
  count: () => number;
  close: () => void;
}

/**
 * Counts and logs stalls: times of more than 100 ms in which this process blocked the event loop. Logs `event loop
 * stalled` with the longest stall in ms and the number of stalls, since the last line and in total.
 * @param deps.onStall called once for each stall with its length in ms
 */
export function watchEventLoop(deps: {
  logger: Logger;
  onStall?: (ms: number) => void;
  logEveryMs?: number;
}): EventLoopWatch {
  const { logger, onStall, logEveryMs = LOG_EVERY_MS } = deps;
  let total = 0;
  let unlogged = 0;
  let longest = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let lookedAt = performance.now();
  let cpu = process.cpuUsage();

  function look(): void {
    const now = performance.now();
    const used = process.cpuUsage(cpu);
    const lateMs = now - lookedAt - LOOK_EVERY_MS;
    const workedMs = (used.user + used.system) / 1_000;
    lookedAt = now;
    cpu = process.cpuUsage();
    if (lateMs > STALL_MS && workedMs >= lateMs * LEAST_WORK_SHARE) {
      total += 1;
      unlogged += 1;
      longest = Math.max(longest, lateMs);
      onStall?.(lateMs);
    }
    if (unlogged === 0 || now - loggedAt < logEveryMs) return;
    logger.warn({ ms: Math.round(longest), stalls: unlogged, count: total }, 'event loop stalled');
    loggedAt = now;
    unlogged = 0;
    longest = 0;
  }

  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return { count: () => total, close: () => clearInterval(timer) };
}
