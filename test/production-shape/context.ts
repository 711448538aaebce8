import type { Ports } from '../../src/dev/processes/free-port.js';
import type { Report } from '../../src/dev/processes/run-command.js';
import type { ServerProcess } from '../../src/dev/servers/server-process.js';
import type { Place } from './place.js';

/** Everything that the parts of a run share. */
export interface ShapeContext {
  /** A temporary folder for the data of the servers. */
  folder: string;
  env: NodeJS.ProcessEnv;
  ports: Ports;
  /** Returns where a process or server runs, by its name. Servers in this process have the place `hub`. */
  place: (name: string) => Place;
  report: Report;
  signal: AbortSignal;
  /** Kills the process if this one is killed, and ends it last, after everything that was kept later. */
  keep: (name: string, server: ServerProcess) => ServerProcess;
  /** Called at the end, in reverse order. */
  atEnd: (undo: () => Promise<unknown>) => void;
}
