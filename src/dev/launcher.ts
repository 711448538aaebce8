import { scheduleReconciliation } from '../calls/reconciliation/schedule.js';
import { parseConfig, type Config } from '../platform/config/config.js';
import { prepareDatabase } from '../prepare-database.js';
import { openDatabase, type Database } from '../database.js';
import { withDeploymentTokens } from '../platform/secrets/deployment-tokens.js';
import { lockDataFolder } from './data-folder.js';
import { prepareDemoAccount, type DemoAccess } from './demo-account.js';
import { createPorts } from './processes/free-port.js';
import { takeWantedPort } from './processes/wanted-port.js';
import { formatLogLine, isAlarming } from './processes/log-line.js';
import { startMediaProxy } from './media-proxy.js';
import { createCrashes, type Crashes } from './processes/crashes.js';
import {
  createProcesses,
  MAX_DRAIN_DELAY_SECONDS,
  MEDIA_DRAIN_SECONDS,
  type Processes,
} from './processes/processes.js';
import { startRole, type ServiceRole } from './roles.js';
import { removeRuntime, type Runtime } from './runtime-file.js';
import { createRuntimePublisher, describeRuntime } from './runtime.js';
import { prepareMongodb, prepareTemporal } from './servers/servers.js';
import { startWebhookInbox, type WebhookInbox } from './webhook-inbox.js';

/** A complete Callwright installation on this machine. */
export interface Stack {
  runtime: Runtime;
  config: Config;
  database: Database;
  inbox: WebhookInbox;
  demo: DemoAccess;
  /** Kills processes during a call. */
  crashes: Crashes;
  /** Stops everything, in order, within 20 s. */
  stop: () => Promise<void>;
}

export interface StackOptions {
  env: NodeJS.ProcessEnv;
  dataFolder: string;
  /** Receives the launcher's own messages. */
  report: (line: string) => void;
  /** Receives the log lines of the roles, prefixed with the role's name. */
  log: (line: string) => void;
  /** Whether to pass on only warnings and errors of the roles. */
  quiet?: boolean;
  /** Aborts a start in progress and cleans up. */
  signal: AbortSignal;
}

const MEDIA_PROCESSES = 2;
const INBOX_PORT = 8_083;
const DATABASE_WAIT_MS = 20_000;

/**
 * Starts the servers and roles on one data folder and keeps them running until `stop`.
 * @throws Error with a one-sentence message when the folder is in use, a server is unavailable or a process does not
 * start. Everything started so far is stopped.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  parseConfig(options.env);
  const failed = new AbortController();
  const undo: (() => Promise<void>)[] = [await lockDataFolder(options.dataFolder)];
  const stop = once(async () => {
    failed.abort();
    for (const step of undo.reverse()) {
      // An error in one step must not prevent the remaining steps.
      await step().catch((error: unknown) => options.report(`while stopping: ${String(error)}`));
    }
  });
  try {
    return await compose({ ...options, signal: AbortSignal.any([options.signal, failed.signal]) }, undo, stop, failed);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts everything. Each step adds its cleanup to `undo`, whose functions run in reverse order. */
async function compose(
  options: StackOptions,
  undo: (() => Promise<void>)[],
  stop: () => Promise<void>,
  failed: AbortController,
): Promise<Stack> {
  const { env, dataFolder, report, signal } = options;
  const ports = createPorts(env);
  undo.push(ports.release);
  const wanted = parseConfig(env);
  const take = (part: string, port: number, variable?: string) =>
    takeWantedPort({ ports, env, report, part, wanted: port, ...(variable && { variable }) });
  const inbox = await startWebhookInbox(await take('the webhook inbox', INBOX_PORT));
  undo.push(inbox.close);

  const streamPort = await take('the audio', wanted.media.port, 'MEDIA_PORT');
  const mediaPorts: number[] = [];
  for (let index = 0; index < MEDIA_PROCESSES; index += 1) mediaPorts.push(await ports.take());
  const proxy = await startMediaProxy({ host: wanted.media.host, port: streamPort, ports: mediaPorts });
  undo.push(proxy.close);

  const publisher = createRuntimePublisher({ dataFolder, report });
  const processes = createProcesses({ signal, log: report, changed: () => publisher.update(processes.pids()) });
  undo.push(processes.stopAll);

  const [mongodb, temporal] = await together(failed, [
    prepareMongodb({ env, dataFolder, ports, report, signal }).then(async ({ uri, start }) => {
      if (start !== undefined) await processes.add('mongodb', 'MongoDB', start);
      return uri;
    }),
    prepareTemporal({ env, dataFolder, ports, report, signal }).then(async ({ address, uiUrl, start, proxy }) => {
      if (proxy !== undefined) undo.push(proxy.close);
      if (start !== undefined) await processes.add('temporal', 'Temporal', start);
      return { address, uiUrl };
    }),
  ]);

  const apiPort = await take('the API', wanted.api.port, 'API_PORT');
  const simulatorPort = await take('the simulated carrier', wanted.simulator.port, 'SIMULATOR_PORT');
  const roleEnv = roleEnvironment(env, { wanted, mongodb, temporal, apiPort, simulatorPort, streamPort });

  const database = await openDatabase(mongodb, { waitMs: DATABASE_WAIT_MS });
  undo.push(() => database.close());
  await prepareDatabase(database);
  const config = await withDeploymentTokens(parseConfig(roleEnv), database);
  const demo = await prepareDemoAccount({ database, config, dataFolder, webhookUrl: inbox.url });
  await scheduleReconciliation(config);

  const crashes = createCrashes();
  await together(failed, startRoles({ options, processes, crashes, env: roleEnv, mediaPorts }));

  const runtime = describeRuntime({ config, demo, inbox, temporalUiUrl: temporal.uiUrl, pids: processes.pids() });
  undo.push(async () => {
    await publisher.end();
    await removeRuntime(dataFolder);
  });
  await publisher.publish(runtime);
  return { runtime, config, database, inbox, demo, crashes, stop };
}

/** The environment of every role. */
function roleEnvironment(
  env: NodeJS.ProcessEnv,
  p: {
    wanted: Config;
    mongodb: string;
    temporal: { address: string; uiUrl: string | undefined };
    apiPort: number;
    simulatorPort: number;
    streamPort: number;
  },
): NodeJS.ProcessEnv {
  return {
    ...env,
    // The roles share an address, so they cannot share a port.
    METRICS_PORT: '',
    DRAIN_DELAY_SECONDS: String(Math.min(p.wanted.drainDelayMs / 1_000, MAX_DRAIN_DELAY_SECONDS)),
    MEDIA_DRAIN_SECONDS: String(MEDIA_DRAIN_SECONDS),
    MONGODB_URI: p.mongodb,
    MONGODB_URI_FILE: '',
    TEMPORAL_ADDRESS: p.temporal.address,
    API_PORT: String(p.apiPort),
    SIMULATOR_PORT: String(p.simulatorPort),
    SIMULATOR_URL: `http://127.0.0.1:${p.simulatorPort}`,
    PUBLIC_BASE_URL: env.PUBLIC_BASE_URL || `http://127.0.0.1:${p.apiPort}`,
    TEMPORAL_UI_URL: env.TEMPORAL_UI_URL || p.temporal.uiUrl,
    STREAM_URL: env.STREAM_URL || `ws://127.0.0.1:${p.streamPort}/stream`,
  };
}

function startRoles(p: {
  options: StackOptions;
  processes: Processes;
  crashes: Crashes;
  env: NodeJS.ProcessEnv;
  mediaPorts: readonly number[];
}): Promise<unknown>[] {
  const { options, processes, crashes, env, mediaPorts } = p;

  function add(role: ServiceRole, name: string, ofRole: NodeJS.ProcessEnv = env): Promise<void> {
    const onLine = (line: string) => {
      if (!options.quiet || isAlarming(line)) options.log(formatLogLine(name, line));
    };
    return processes.add(role, name, async (signal) => {
      const server = await startRole({ role, env: ofRole, onLine, signal });
      crashes.watch(role, name, server);
      return server;
    });
  }

  return [
    add('api', 'api'),
    add('worker', 'worker'),
    add('simulator', 'simulator'),
    ...mediaPorts.map((port, index) => add('media', `media ${index + 1}`, { ...env, MEDIA_PORT: String(port) })),
  ];
}

/**
 * Waits for all starts even if one fails. Otherwise a process could still be starting while the others are being
 * stopped.
 */
async function together<T extends readonly Promise<unknown>[]>(
  failed: AbortController,
  starts: readonly [...T],
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  let fault: { error: unknown } | undefined;
  const settled = starts.map((start) =>
    start.catch((error: unknown) => {
      fault ??= { error };
      failed.abort();
    }),
  );
  const values = await Promise.all(settled);
  if (fault !== undefined) throw fault.error;
  return values as { -readonly [I in keyof T]: Awaited<T[I]> };
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= action());
}
