import { PID_GROUPS, type PidGroup } from '../runtime-file.js';
import type { StartServer } from '../servers/servers.js';
import { supervise, type Supervised } from './supervise.js';
import { startWatchdog } from './watchdog.js';

/** The launcher gives its roles no more time than this to drain, so that it ends soon. */
export const MAX_DRAIN_DELAY_SECONDS = 5;
export const MEDIA_DRAIN_SECONDS = 8;

/**
 * How long each group may take to exit, in the order in which they are stopped. The total is less than 20 s, and without a
 * drain delay less than 15 s.
 */
const GRACE_MS: readonly (readonly [groups: readonly PidGroup[], ms: number])[] = [
  // The API serves for its drain delay.
  [['api'], MAX_DRAIN_DELAY_SECONDS * 1_000 + 1_500],
  // Calls in progress have some time to end, and their workflows are notified.
  [['media'], MEDIA_DRAIN_SECONDS * 1_000],
  [['simulator'], 500],
  [['worker'], 1_500],
  [['temporal', 'mongodb'], 1_000],
];

/** The processes of a stack. */
export interface Processes {
  /** Starts a process and keeps it running. */
  add(group: PidGroup, name: string, start: StartServer): Promise<void>;
  pids(): Record<PidGroup, number[]>;
  stopAll: () => Promise<void>;
}

/** @param p.changed called after every change of a pid */
export function createProcesses(p: {
  signal: AbortSignal;
  log: (line: string) => void;
  changed: () => void;
}): Processes {
  const running: Record<PidGroup, (Supervised | undefined)[]> = emptyGroups();
  const watchdog = startWatchdog();

  return {
    async add(group, name, start) {
      const watched: StartServer = async (signal) => {
        const server = await start(signal);
        watchdog.watch(server.pid);
        void server.exited.then(() => watchdog.forget(server.pid));
        return server;
      };
      // Reserve the index before the process starts, so that the order of the pids does not depend on which one starts
      // first.
      const place = running[group].push(undefined) - 1;
      running[group][place] = await supervise({ ...p, name, start: watched });
      p.changed();
    },
    pids() {
      const pids: Record<PidGroup, number[]> = emptyGroups();
      for (const group of PID_GROUPS) pids[group] = running[group].flatMap((process_) => process_?.pid() ?? []);
      return pids;
    },
    async stopAll() {
      for (const [groups, graceMs] of GRACE_MS) {
        const asked = groups.flatMap((group) => running[group].flatMap((process_) => process_ ?? []));
        await Promise.all(asked.map((process_) => process_.stop(graceMs)));
      }
      await watchdog.close();
    },
  };
}

function emptyGroups(): Record<PidGroup, never[]> {
  return { api: [], worker: [], media: [], simulator: [], temporal: [], mongodb: [] };
}
