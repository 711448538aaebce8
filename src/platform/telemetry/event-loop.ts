import type { Logger } from './logger.js';

/** Short, because a stall shows as its length less the time until the next look was due. */
const LOOK_EVERY_MS = 10;
/** Audio frames are 20 ms long and health is asked every second; a stall above this is felt by somebody. */
const STALL_MS = 100;
const LOG_EVERY_MS = 10_000;
/** A process that was suspended is late without having worked; one that shares its processor worked some of the time. */
const LEAST_WORK_SHARE = 0.5;

export interface EventLoopWatch {
  /** Stalls since the start. */
  count: () => number;
  close: () => void;
}

/**
 * Counts and logs the times at which nothing else could run for more than 100 ms because this process was at work:
 * `event loop stalled` with the longest stall in ms, and how many there were, since the last line and in all.
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
