import { withDeadline } from '../http/deadline.js';
import type { Logger } from './logger.js';
import { report, type Measurements } from './measurements.js';

type DependencyName = Measurements['dependency']['dependency'];

const LOOK_EVERY_MS = 5_000;
const TIMEOUT_MS = 1_000;

/**
 * Asks the dependencies of this process every few seconds whether they respond, because commands that found no server
 * appear in no other metric. Reports each state, and logs each change once.
 */
export function watchDependencies(p: {
  checks: Readonly<Partial<Record<DependencyName, () => Promise<unknown>>>>;
  logger: Logger;
  everyMs?: number;
}): { close(): Promise<void> } {
  const { logger } = p;
  const checks = Object.entries(p.checks) as [DependencyName, () => Promise<unknown>][];
  const known = new Map<DependencyName, boolean>();
  let isClosed = false;

  async function look(dependency: DependencyName, check: () => Promise<unknown>): Promise<void> {
    const fault = await faultOf(check);
    if (isClosed) return;
    const up = fault === undefined;
    const wasUp = known.get(dependency) ?? true;
    known.set(dependency, up);
    report('dependency', { dependency, up });
    if (up && !wasUp) logger.info({ dependency }, 'dependency responds again');
    if (!up && wasUp) logger.warn({ dependency, err: fault }, 'dependency does not respond');
  }

  function lookAtAll(): void {
    for (const [dependency, check] of checks) void look(dependency, check);
  }

  lookAtAll();
  const timer = setInterval(lookAtAll, p.everyMs ?? LOOK_EVERY_MS);
  timer.unref();
  return {
    async close() {
      isClosed = true;
      clearInterval(timer);
    },
  };
}

/** Returns why a dependency did not respond in time, or undefined if it did. Never rejects. */
async function faultOf(check: () => Promise<unknown>): Promise<Error | undefined> {
  const late = () => new Error(`No response within ${TIMEOUT_MS / 1_000} s.`);
  try {
    await withDeadline(Date.now() + TIMEOUT_MS, check(), late);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
