import { channel } from 'node:diagnostics_channel';
import type { Logger } from './logger.js';

const NAME = 'callwright:contention';
const LOG_EVERY_MS = 60_000;

/** Conflicts of one optimistic update with other writers. */
export interface Contention {
  /** Name of what was updated, such as `leases`. */
  name: string;
  retries: number;
  /** Whether all retries failed. */
  gaveUp: boolean;
}

/** Reports a retried update to `watchContention` in the same process. */
export function reportContention(contention: Contention): void {
  channel(NAME).publish(contention);
}

/**
 * Counts retries of optimistic updates, and logs them once a minute, one line per name.
 * @param deps.onRetries called for each update that was retried
 */
export function watchContention(deps: {
  logger: Logger;
  onRetries?: (contention: Contention) => void;
  logEveryMs?: number;
}): { close: () => void } {
  const { logger, onRetries, logEveryMs = LOG_EVERY_MS } = deps;
  const counts = new Map<string, { retries: number; gaveUp: number }>();

  function count(message: unknown): void {
    const contention = message as Contention;
    const { name, retries, gaveUp } = contention;
    const before = counts.get(name) ?? { retries: 0, gaveUp: 0 };
    counts.set(name, { retries: before.retries + retries, gaveUp: before.gaveUp + (gaveUp ? 1 : 0) });
    onRetries?.(contention);
  }

  function log(): void {
    for (const [name, counted] of counts) logger.info({ name, ...counted }, 'writes tried again');
    counts.clear();
  }

  const contentions = channel(NAME);
  contentions.subscribe(count);
  const timer = setInterval(log, logEveryMs);
  timer.unref();
  return {
    close: () => {
      contentions.unsubscribe(count);
      clearInterval(timer);
      log();
    },
  };
}
