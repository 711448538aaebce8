import { PID_GROUPS, type PidGroup } from '../runtime-file.js';
import type { StartServer } from '../servers/servers.js';
import { supervise, type Supervised } from './supervise.js';
import { startWatchdog } from './watchdog.js';

/** How long each may take to end by itself, in the order in which they are asked to: in all under 10 s. */
const GRACE_MS: readonly (readonly [groups: readonly PidGroup[], ms: number])[] = [
  [['api'], 1_000],
  // The conversations on it get a moment to end, and their workflows are told.
  [['media'], 5_000],
  [['simulator'], 500],
  [['worker'], 1_500],
  [['temporal', 'mongodb'], 1_000],
];

/** Every process of a stack. */
export interface Processes {
  /** Starts one and keeps it running. */
  add(group: PidGroup, name: string, start: StartServer): Promise<void>;
  pids(): Record<PidGroup, number[]>;
  stopAll: () => Promise<void>;
}

/** @param p.changed called whenever a pid has changed */
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
      // Its place is that of its name, whichever of those that start together is there first.
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
