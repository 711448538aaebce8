import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { packageRoot } from '../../../src/dev/servers/cache-folder.js';
import type { FindOptions } from '../../../src/dev/servers/find-options.js';
import { runCommand } from '../../../src/dev/processes/run-command.js';
import { findTemporal } from '../../../src/dev/servers/temporal/find-temporal.js';
import { probePort, startReady } from '../../../src/dev/servers/server-process.js';
import type { ShapeContext } from '../context.js';
import { LOOPBACK } from '../place.js';
import { buildGoServer } from './go-server.js';
import { POSTGRESQL_USER, postgresqlVersion, startPostgresql } from './postgresql.js';

/** The version of the compose file. */
export const TEMPORAL_VERSION = '1.29.7';
const MODULE = 'go.temporal.io/server';
/** Temporal's plugin for every PostgreSQL since 12. */
const PLUGIN = 'postgres12';
const SCHEMAS = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
};
const READY_WITHIN_MS = 90_000;
const SCHEMA_TIMEOUT_MS = 120_000;
export const NAMESPACE = 'default';
const RETENTION_MS = 7 * 86_400_000;

/** A version is drained some minutes after its last call; this asks sooner. */
const DRAINAGE: Readonly<Record<string, string>> = {
  'matching.wv.VersionDrainageStatusVisibilityGracePeriod': '5s',
  'matching.wv.VersionDrainageStatusRefreshInterval': '2s',
};

/** Starts Temporal's development server. @returns its address */
export async function startEmbeddedTemporal(context: ShapeContext): Promise<string> {
  const { env, report, signal, folder } = context;
  const { address: host } = context.place('Temporal');
  const file = await findTemporal({ env, report, signal });
  const port = await context.ports.take();
  const settings = Object.entries(DRAINAGE).flatMap(([key, value]) => ['--dynamic-config-value', `${key}="${value}"`]);
  // Its services look for each other on loopback, wherever they listen.
  const ip = host === LOOPBACK.address ? host : '0.0.0.0';
  const args = ['server', 'start-dev', '--ip', ip, '--port', String(port), '--log-level', 'error'];
  args.push('--headless', '--db-filename', join(folder, 'temporal.db'), ...settings);
  context.keep('Temporal', await startServer({ file, args, port, context }));
  return `${host}:${port}`;
}

/** @returns the paths of its executables */
export async function buildTemporalServer(options: FindOptions): Promise<{ server: string; sqlTool: string }> {
  const build = (label: string, path: string, name: string) =>
    buildGoServer({ label, name, module: `${MODULE}/cmd/${path}`, version: TEMPORAL_VERSION }, options);
  const server = await build('temporal-server', 'server', 'server');
  return { server, sqlTool: await build('temporal-sql-tool', 'tools/sql', 'sql') };
}

/** Starts Temporal Server on a new PostgreSQL, as the compose file does. @returns the address of its frontend */
export async function startTemporalServer(context: ShapeContext): Promise<string> {
  const { folder, ports, env } = context;
  const { address: host } = context.place('Temporal');
  const { server, sqlTool } = await buildTemporalServer(context);
  const postgresql = { port: await ports.take(), password: randomBytes(16).toString('hex') };
  context.keep('PostgreSQL', await startPostgresql(context, postgresql));
  await prepareSchemas(context, { sqlTool, ...postgresql });
  const numbers = await Promise.all(Array.from({ length: 8 }, () => ports.take()));
  const [frontend = 0] = numbers;
  await mkdir(join(folder, 'temporal'));
  const settingsFile = join(folder, 'temporal', 'dynamic.yaml');
  await writeFile(settingsFile, await dynamicSettings());
  const config = serverConfig({ host, ports: numbers, postgresql, settingsFile });
  await writeFile(join(folder, 'temporal', 'shape.yaml'), JSON.stringify(config));
  const address = `${host}:${frontend}`;
  const args = ['--root', folder, '--config', 'temporal', '--env', 'shape', 'start'];
  context.keep('Temporal', await startServer({ file: server, args, port: frontend, context }));
  await registerNamespace(address);
  context.report(`Temporal Server ${TEMPORAL_VERSION} runs on PostgreSQL ${await postgresqlVersion(env)}`);
  return address;
}

async function startServer(p: { file: string; args: readonly string[]; port: number; context: ShapeContext }) {
  const { address, at } = p.context.place('Temporal');
  return startReady({
    name: 'Temporal',
    command: { ...at(p.file, p.args), env: p.context.env },
    probe: async () => {
      // A client that finds no server would reconnect for ever.
      await probePort(p.port, address);
      const connection = await Connection.connect({ address: `${address}:${p.port}`, connectTimeout: 1_000 });
      try {
        await connection.withDeadline(Date.now() + 2_000, () => connection.workflowService.getSystemInfo({}));
      } finally {
        await connection.close();
      }
    },
    timeoutMs: READY_WITHIN_MS,
    signal: p.context.signal,
  });
}

/** A server that has just started may reject the first requests. */
async function registerNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  const deadline = Date.now() + READY_WITHIN_MS;
  try {
    for (;;) {
      try {
        await connection.workflowService.registerNamespace({
          namespace: NAMESPACE,
          workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
        });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await sleep(500);
      }
    }
  } finally {
    await connection.close();
  }
}

/** Makes Temporal's two databases, as its image does. */
async function prepareSchemas(
  context: ShapeContext,
  p: { sqlTool: string; port: number; password: string },
): Promise<void> {
  const { at } = context.place('Temporal');
  for (const [database, schema] of Object.entries(SCHEMAS)) {
    const steps = [
      ['create-database'],
      ['setup-schema', '--version', '0.0'],
      ['update-schema', '--schema-name', schema],
    ];
    for (const step of steps) {
      const server = ['--plugin', PLUGIN, '--endpoint', '127.0.0.1', '--port', String(p.port)];
      await runCommand({
        what: `making the schema of ${database}`,
        ...at(p.sqlTool, [...server, '--user', POSTGRESQL_USER, '--database', database, ...step]),
        cwd: context.folder,
        env: { ...context.env, SQL_PASSWORD: p.password },
        timeoutMs: SCHEMA_TIMEOUT_MS,
        report: context.report,
        signal: context.signal,
      });
    }
  }
}

/** The settings of the compose file, and how soon a version counts as drained. */
async function dynamicSettings(): Promise<string> {
  const deployed = await readFile(join(packageRoot(), 'deploy/temporal-dynamic-config.yaml'), 'utf8');
  const ours = Object.entries(DRAINAGE).map(([key, value]) => `${key}:\n  - value: ${value}\n`);
  return [deployed.trimEnd(), ...ours].join('\n');
}

/** The configuration of all four services in one process. */
function serverConfig(p: {
  host: string;
  ports: readonly number[];
  postgresql: { port: number; password: string };
  settingsFile: string;
}): object {
  const { host, ports, postgresql, settingsFile } = p;
  const store = (databaseName: string) => ({
    sql: {
      pluginName: PLUGIN,
      databaseName,
      connectAddr: `127.0.0.1:${postgresql.port}`,
      connectProtocol: 'tcp',
      user: POSTGRESQL_USER,
      password: postgresql.password,
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  });
  const services = ['frontend', 'history', 'matching', 'worker'].map((name, index) => {
    const [grpcPort, membershipPort] = ports.slice(2 * index);
    return [name, { rpc: { grpcPort, membershipPort, bindOnIP: host } }];
  });
  const frontend = `${host}:${ports[0]}`;
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
    services: Object.fromEntries(services) as object,
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: settingsFile, pollInterval: '10s' },
    publicClient: { hostPort: frontend },
  };
}
