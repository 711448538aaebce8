import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../servers/server-process.js';

const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 10_000;
/**
 * A process that ran at least this long counts as healthy. The next restart after its exit then comes without a delay.
 */
const HEALTHY_MS = 20_000;

/** A process that is restarted whenever it exits. */
export interface Supervised {
  /** Undefined while the process is not running. */
  pid(): number | undefined;
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a process and restarts it whenever it exits, until `stop` is called.
 * @param p.changed called when the pid has changed
 * @throws the error of the first start, which is not retried
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
      p.log(`${p.name} (process ${current.pid}) ended with ${how}; restarting it`);
      wait = await startAgain(wait);
    }
  }

  async function startAgain(firstWait: number): Promise<number> {
    let wait = firstWait;
    while (!stopping.signal.aborted) {
      await sleep(wait, undefined, { signal: stopping.signal }).catch(() => undefined);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
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
      // A restart may be in progress. Either `stopping` aborts it, or it completes and the second `stop` below ends the
      // new process.
      if (current.isRunning()) await current.stop(graceMs);
      await kept;
      await current.stop(graceMs);
    },
  };
}
