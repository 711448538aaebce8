import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPorts, type Ports } from '../../../src/dev/processes/free-port.js';
import { startWatchdog } from '../../../src/dev/processes/watchdog.js';
import { findMongodb } from '../../../src/dev/servers/mongodb/find-mongodb.js';
import { mongodbUri, startMongodb } from '../../../src/dev/servers/mongodb/start-mongodb.js';
import type { ServerProcess } from '../../../src/dev/servers/server-process.js';
import { findTemporal } from '../../../src/dev/servers/temporal/find-temporal.js';
import { startTemporal } from '../../../src/dev/servers/temporal/start-temporal.js';
import { startRealTemporal, type StartedTemporal, type TemporalStart } from './real-temporal.js';

/** The servers that the service and the baselines share, and everything that has to end with the benchmark. */
export interface BenchServers {
  folder: string;
  ports: Ports;
  temporalAddress: string;
  /** Returns the connection string of a database. */
  mongodbUri(database: string, options?: { monitored?: boolean }): string;
  /** Returns a name that is as long as that of production (`callwright`), because histories contain it. */
  newTaskQueue(): string;
  pids: { mongodb: number; temporal: number };
  /** The kinds of both servers, as a text. */
  described: string;
  /** The database of a real Temporal Server. */
  postgresqlPid?: number;
  /** Kills the process if the benchmark is killed. */
  watch<T extends { pid: number }>(process_: T): T;
  stop(): Promise<void>;
}

/** Temporal's development server, or a real server on PostgreSQL. */
export type TemporalKind = 'development' | 'server';

const DESCRIBED: Readonly<Record<TemporalKind, string>> = {
  development: "Temporal's development server with a file",
  server: 'Temporal Server on PostgreSQL',
};

/** Starts MongoDB and Temporal, with data on disk, as the launcher does. Temporal has no web UI. */
export async function startBenchServers(
  env: NodeJS.ProcessEnv,
  kind: TemporalKind = 'development',
): Promise<BenchServers> {
  const report = (line: string) => void process.stderr.write(`bench: ${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'callwright-bench-'));
  const ports = createPorts(env);
  const watchdog = startWatchdog();
  const running: ServerProcess[] = [];
  let queues = 0;
  const watch = <T extends { pid: number }>(process_: T) => {
    watchdog.watch(process_.pid);
    return process_;
  };
  const stop = async () => {
    await Promise.all(running.map((server) => server.stop()));
    await watchdog.close();
    await ports.release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const mongodbPort = await ports.take();
    const dataFolder = join(folder, 'mongodb');
    const program = await findMongodb({ env, report, dataFolder });
    const mongodb = watch(await startMongodb({ program, dataFolder, port: mongodbPort, env }));
    running.push(mongodb);
    const keep = (server: ServerProcess) => {
      running.push(watch(server));
      return server;
    };
    const start = kind === 'server' ? startRealTemporal : startDevelopmentTemporal;
    const { address, temporal, postgresql } = await start({ env, folder, ports, report, keep });
    return {
      folder,
      ports,
      temporalAddress: address,
      mongodbUri(database, { monitored = false } = {}) {
        const uri = mongodbUri(program, mongodbPort, database);
        return monitored ? `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true` : uri;
      },
      newTaskQueue: () => `callwrigh${(queues++).toString(36)}`,
      described: `${DESCRIBED[kind]}, ${program.kind === 'mongod' ? 'MongoDB' : 'the embedded server in place of MongoDB'}`,
      pids: { mongodb: mongodb.pid, temporal: temporal.pid },
      ...(postgresql && { postgresqlPid: postgresql.pid }),
      watch,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDevelopmentTemporal(p: TemporalStart): Promise<StartedTemporal> {
  const { env, folder, ports, report, keep } = p;
  const file = await findTemporal({ env, report });
  const port = await ports.take();
  const temporal = keep(await startTemporal({ file, port, dataFile: join(folder, 'temporal.db'), env }));
  return { address: `127.0.0.1:${port}`, temporal };
}
