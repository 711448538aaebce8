import { channel } from 'node:diagnostics_channel';
import type { Logger } from './logger.js';

const NAME = 'callwright:contention';
const LOG_EVERY_MS = 60_000;

/** Tries of one guarded write that other writers overtook. */
export interface Contention {
  /** What was written to, such as `leases`. */
  name: string;
  retries: number;
  /** Whether it was given up in the end. */
  gaveUp: boolean;
}

/** Tells whoever watches in this process that a write had to be tried again. */
export function tellContention(contention: Contention): void {
  channel(NAME).publish(contention);
}

/**
 * Counts the retries of guarded writes, and logs those of a minute in one line for each thing that was written to.
 * @param deps.onRetries called for each write that was tried again
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
