import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../servers/server-process.js';

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;
/** A process that ran this long was healthy: its exit resets the wait before the restart. */
const HEALTHY_MS = 20_000;

/** A process that is restarted whenever it exits. */
export interface Supervised {
  /** Undefined while it is down. */
  pid(): number | undefined;
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a process and restarts it until `stop`.
 * @param p.changed called when its pid has changed
 * @throws whatever the first start throws: the first start is not retried
 */
export async function supervise(p: {
  name: string;
  start: (signal: AbortSignal) => Promise<ServerProcess>;
  signal: AbortSignal;
  log: (line: string) => void;
  changed: () => void;
}): Promise<Supervised> {
  const stopping = new AbortController();
  let current = await p.start(p.signal);

  async function keep(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!stopping.signal.aborted) {
      const since = Date.now();
      const how = await current.exited;
      if (stopping.signal.aborted) return;
      p.changed();
      if (Date.now() - since > HEALTHY_MS) wait = FIRST_WAIT_MS;
      p.log(`${p.name} (process ${current.pid}) ended with ${how}; starting it again`);
      wait = await startAgain(wait);
    }
  }

  async function startAgain(firstWait: number): Promise<number> {
    let wait = firstWait;
    while (!stopping.signal.aborted) {
      await sleep(wait, undefined, { signal: stopping.signal }).catch(() => undefined);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      if (stopping.signal.aborted) break;
      try {
        current = await p.start(stopping.signal);
        p.changed();
        p.log(`${p.name} runs again as process ${current.pid}`);
        return wait;
      } catch (error) {
        if (!stopping.signal.aborted) p.log(error instanceof Error ? error.message : String(error));
      }
    }
    return wait;
  }

  const kept = keep();
  return {
    pid: () => (current.isRunning() ? current.pid : undefined),
    async stop(graceMs) {
      stopping.abort();
      // A restart in progress cannot be stopped here. It either aborts or completes, and the second `stop` ends its
      // process.
      if (current.isRunning()) await current.stop(graceMs);
      await kept;
      await current.stop(graceMs);
    },
  };
}
