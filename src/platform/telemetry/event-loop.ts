import type { Logger } from './logger.js';
import { report } from './measurements.js';

/** Interval between two samples. A stall is measured only from the time the next sample was due, so keep this short. */
const LOOK_EVERY_MS = 10;
/**
 * Shorter stalls are ignored. Longer ones have visible effects: an audio frame has 20 ms, health is checked every
 * second.
 */
const STALL_MS = 100;
const LOG_EVERY_MS = 10_000;
/** Minimum share of CPU time in a stall. A suspended process has none and is ignored; one on a shared CPU has some. */
const LEAST_WORK_SHARE = 0.5;

export interface EventLoopWatch {
  /** Number of stalls since the start. */
  count: () => number;
  close: () => void;
}

/**
 * Counts and logs stalls: times of more than 100 ms in which this process blocked the event loop. Logs `event loop
 * stalled` with the longest stall in ms and the number of stalls, both since the last log message and in total.
 */
export function watchEventLoop(deps: { logger: Logger; logEveryMs?: number }): EventLoopWatch {
  const { logger, logEveryMs = LOG_EVERY_MS } = deps;
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
      report('stall', { ms: lateMs });
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
