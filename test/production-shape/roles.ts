import { join } from 'node:path';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { startReady, type ServerProcess } from '../../src/dev/servers/server-process.js';
import type { ShapeContext } from './context.js';

export type RoleName = 'api' | 'worker' | 'media' | 'simulator' | 'exporter';

/** One process of a role, which can be replaced by a new one on the same ports. */
export interface Instance {
  role: RoleName;
  /** Such as `media 2`. */
  name: string;
  /** The address of its metrics, with the port. */
  metricsAddress: string;
  /** The address of the metrics of Temporal's SDK; workers only. */
  sdkMetricsAddress?: string;
  /** Ends the process as an orchestrator does, and starts the next one, with the variables of then, when it has ended. */
  restart(): Promise<void>;
  /** Ends the process for good. */
  stop(): Promise<void>;
}

/** The log of all roles, and what went wrong with their processes. */
export interface RoleRecords {
  logs: string[];
  faults: string[];
}

const READY_WITHIN_MS = 90_000;
/** Longer than any role drains here, so that only a role that hangs is killed. */
const GRACE_MS = 30_000;

/** Starts a role from the build as an orchestrator does, and waits until its health check says that it is ready. */
export async function startInstance(
  context: ShapeContext,
  p: { role: RoleName; name: string; env: () => NodeJS.ProcessEnv; port?: number; records: RoleRecords },
): Promise<Instance> {
  const { role, name, records } = p;
  const { address, at } = context.place(name);
  const metricsPort = await context.ports.take();
  const metricsAddress = `${address}:${metricsPort}`;
  const sdkMetricsAddress = role === 'worker' ? `${address}:${await context.ports.take()}` : undefined;
  const port = p.port ?? (await context.ports.take());
  const prefix = role.toUpperCase();
  const own = {
    METRICS_HOST: address,
    METRICS_PORT: String(metricsPort),
    ...(role === 'exporter' ? {} : { [`${prefix}_HOST`]: address, [`${prefix}_PORT`]: String(port) }),
    ...(sdkMetricsAddress === undefined ? {} : { WORKER_METRICS_ADDRESS: sdkMetricsAddress }),
  };
  const health = role === 'exporter' ? `${metricsAddress}/health/live` : `${address}:${port}/health/ready`;
  let stopping = false;

  const start = async (): Promise<ServerProcess> => {
    stopping = false;
    const server = await startReady({
      name: `The process ${name}`,
      command: {
        ...at(process.execPath, [join(packageRoot(), 'dist/src/main.js'), role]),
        env: { ...own, ...p.env() },
        onLine: (line) => records.logs.push(`${name} | ${line}`),
      },
      probe: () => isReady(`http://${health}`),
      timeoutMs: READY_WITHIN_MS,
      signal: context.signal,
    });
    void server.exited.then((how) => {
      if (!stopping) records.faults.push(`${name} ended with ${how} though it was not stopped`);
    });
    return context.keep(name, server);
  };
  const end = async (server: ServerProcess): Promise<void> => {
    stopping = true;
    await server.stop(GRACE_MS);
    const how = await server.exited;
    if (how !== 'code 0') records.faults.push(`${name} ended with ${how} after SIGTERM`);
  };

  let current = await start();
  return {
    role,
    name,
    metricsAddress,
    ...(sdkMetricsAddress === undefined ? {} : { sdkMetricsAddress }),
    async restart() {
      await end(current);
      current = await start();
    },
    stop: () => end(current),
  };
}

async function isReady(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} responds with ${response.status}`);
}
