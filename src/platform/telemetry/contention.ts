import type { Logger } from './logger.js';
import { observe } from './measurements.js';

const LOG_EVERY_MS = 60_000;

/** Counts retries of optimistic updates, and logs them once a minute, one line per name. */
export function watchContention(deps: { logger: Logger; logEveryMs?: number }): { close: () => void } {
  const { logger, logEveryMs = LOG_EVERY_MS } = deps;
  const counts = new Map<string, { retries: number; gaveUp: number }>();

  const forget = observe('contention', ({ name, retries, gaveUp }) => {
    const before = counts.get(name) ?? { retries: 0, gaveUp: 0 };
    counts.set(name, { retries: before.retries + retries, gaveUp: before.gaveUp + (gaveUp ? 1 : 0) });
  });

  function log(): void {
    for (const [name, counted] of counts) logger.info({ name, ...counted }, 'writes tried again');
    counts.clear();
  }

  const timer = setInterval(log, logEveryMs);
  timer.unref();
  return {
    close: () => {
      forget();
      clearInterval(timer);
      log();
    },
  };
}
