import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { parseConfig, type Config } from './platform/config/config.js';
import { answer, linkToLauncher } from './platform/launcher-link.js';
import { watchContention } from './platform/telemetry/contention.js';
import { watchDependencies } from './platform/telemetry/dependency-watch.js';
import { watchEventLoop } from './platform/telemetry/event-loop.js';
import type { MongoDatabase } from './platform/mongo/connection.js';
import { createLogger, type Logger } from './platform/telemetry/logger.js';
import { report, type Measurements } from './platform/telemetry/measurements.js';
import type { Tracing } from './platform/telemetry/tracing/create-tracing.js';

const ROLES = {
  api: startApi,
  worker: startWorker,
  media: startMedia,
  simulator: startSimulator,
  exporter: startExporter,
  codec: startCodec,
};
type RoleName = keyof typeof ROLES;

interface RoleDeps {
  config: Config;
  logger: Logger;
  stop: AbortSignal;
  /** The metrics of this process, if it serves any. */
  registry?: Registry | undefined;
  /** The traces of this process, if it exports any. */
  tracing?: Tracing | undefined;
}

/** A role that has started. */
interface RunningRole {
  /** Settles when the role ends without being stopped; absent for roles that never do. */
  ended?: Promise<void>;
  close(): Promise<void>;
}

/** How long a role may take to stop when its load balancer knows of it, and no call has to end first. */
const STOP_TIMEOUT_MS = 8_000;
/** How long a media process may take after its calls have ended or moved. */
const MEDIA_STOP_MARGIN_MS = 5_000;
const SERVERS_TIMEOUT_MS = 60_000;
const RETRY_MS = 500;
const SERVER_NAMES = { mongodb: 'MongoDB', temporal: 'Temporal' };

/** Runs one role of the service until SIGTERM or SIGINT, or until the launcher that started it has exited. */
async function main(role: string | undefined, env: NodeJS.ProcessEnv): Promise<void> {
  if (!isRole(role)) throw new Error(`Give one role as the first argument: ${Object.keys(ROLES).join(', ')}.`);
  const config = parseConfig(env);
  const logger = createLogger({ role, level: config.logLevel });
  if (config.temporal.exposed) logger.warn({ variable: 'TEMPORAL_TLS' }, 'Temporal connection is not encrypted');
  logCarrierAccounts(config, logger);
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort());
  if (process.channel !== undefined) process.once('disconnect', () => stopping.abort());
  stopping.signal.addEventListener('abort', () => {
    report('serving', { role, serving: false });
    exitLater(logger, stopWithinMs(role, config));
  });
  for (const fault of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(fault, (error: unknown) => {
      logger.fatal({ err: error }, fault === 'uncaughtException' ? 'uncaught exception' : 'unhandled rejection');
      process.exit(1);
    });
  }

  let running: RunningRole;
  let tracing: Tracing | undefined;
  try {
    // Before the role, because some parts report only if somebody observes them when they start.
    const registry = await serveMetrics(role, config, logger);
    tracing = await startTracing(role, config, logger);
    running = await ROLES[role]({ config, logger, stop: stopping.signal, registry, tracing });
  } catch (error) {
    if (stopping.signal.aborted) process.exit(0);
    throw error;
  }
  watchContention({ logger });
  if (config.production) watchEventLoop({ logger });
  logger.info('role ready');
  if (!stopping.signal.aborted) report('serving', { role, serving: true });
  process.send?.({ ready: true });
  await Promise.race([stopped, ...(running.ended === undefined ? [] : [running.ended])]);
  const endedByItself = !stopping.signal.aborted;
  if (endedByItself) logger.error('role ended unexpectedly');
  stopping.abort();
  await running.close();
  await tracing?.close();
  logger.info('role stopped');
  process.exit(endedByItself ? 1 : 0);
}

/** Says which accounts this process knows, because all roles must know the same ones. */
function logCarrierAccounts({ carriers: { live, further, pools } }: Config, logger: Logger): void {
  if (further.length === 0) return;
  const carrierAccounts = [live, ...further].map(({ name }) => name);
  logger.info({ carrierAccounts, carrierPools: pools.map(({ name }) => name) }, 'carrier accounts configured');
}

function isRole(name: string | undefined): name is RoleName {
  return name !== undefined && Object.hasOwn(ROLES, name);
}

/** How long a role may take to stop. */
function stopWithinMs(role: RoleName, { drainDelayMs, media }: Config): number {
  if (role === 'api') return drainDelayMs + STOP_TIMEOUT_MS;
  return role === 'media' ? media.drainMs + MEDIA_STOP_MARGIN_MS : STOP_TIMEOUT_MS;
}

/** Exits even if a connection does not close. */
function exitLater(logger: Logger, afterMs: number): void {
  setTimeout(() => {
    logger.warn('shutdown timed out; exiting with open connections');
    process.exit(1);
  }, afterMs).unref();
}

// Each role loads only its own code. For example, the simulator needs no database driver.

async function startApi(deps: RoleDeps): Promise<RunningRole> {
  const { createApiServer } = await import('./api/server.js');
  const { config, database, gateway } = await openServices(deps);
  const launcher = linkToLauncher(process);
  const server = createApiServer({ config, database, gateway, logger: deps.logger, launcher });
  await server.listen();
  const watch = await watchServers(deps, database, () => gateway.checkHealth());
  return { close: () => closeAll(server, watch, gateway, database) };
}

async function startMedia(deps: RoleDeps): Promise<RunningRole> {
  const { createCallMediaServer } = await import('./calls/media.js');
  const { createConfiguredEngines } = await import('./voice/engines/configured-engines.js');
  const { withCheckedProviders } = await import('./voice/engines/start-checks/check-providers.js');
  // Only media processes use the providers of engines, so only they ask them.
  const checked = await withCheckedProviders(deps.config, deps);
  const { config, database, gateway } = await openServices(deps);
  const engines = createConfiguredEngines({ ...deps, config: checked });
  const server = createCallMediaServer({ ...deps, config, database, gateway, engines });
  await server.listen();
  const launcher = config.production ? undefined : linkToLauncher(process);
  if (launcher !== undefined) answer(launcher, 'carries', (callId) => server.carries(callId));
  const watch = await watchServers(deps, database, () => gateway.checkHealth());
  return { close: () => closeAll(server, watch, gateway, database) };
}

async function startWorker(deps: RoleDeps): Promise<RunningRole> {
  const { runWorker } = await import('../workers/worker.js');
  const { startWorkerHealth } = await import('../workers/worker-health.js');
  const { limitWorkflowStacks } = await import('../workers/stack-frames.js');
  limitWorkflowStacks(deps.config.worker.stackFrames);
  let checkReadiness: Parameters<NonNullable<Parameters<typeof runWorker>[0]['onReady']>>[0] | undefined;
  const { host, port } = deps.config.worker;
  const isChecked = () => checkReadiness?.();
  const health = port === undefined ? undefined : await startWorkerHealth({ host, port, checkReadiness: isChecked });
  const { logMissingAccounts } = await import('./calls/steps/missing-accounts.js');
  const { config, database, gateway } = await openServices(deps);
  await logMissingAccounts(config, database, deps.logger);
  await until('temporal', deps, () => gateway.checkHealth());
  await gateway.close();
  let ended: Promise<void> = Promise.resolve();
  const ready = new Promise<void>((resolve) => {
    const onReady = (check: NonNullable<typeof checkReadiness>) => {
      checkReadiness = check;
      resolve();
    };
    ended = runWorker({ ...deps, config, database, onReady });
  });
  await Promise.race([ready, ended]);
  const watch = await watchServers(deps, database, async () => {
    if ((await checkReadiness?.())?.temporal !== 'ok') throw new Error('Temporal did not respond to the worker.');
  });
  return {
    ended,
    close: async () => {
      await ended;
      health?.close();
      await closeAll(watch, database);
    },
  };
}

async function startSimulator(deps: RoleDeps): Promise<RunningRole> {
  const { createSimulator } = await import('./telephony/simulator/server.js');
  const { logger } = deps;
  const config = await simulatorConfig(deps);
  const server = createSimulator({ config, logger });
  await server.listen();
  return { close: () => server.close() };
}

/** Serves the state of the whole service, which only one process should read. */
async function startExporter(deps: RoleDeps): Promise<RunningRole> {
  const { registerStateMetrics } = await import('./calls/state-metrics.js');
  if (deps.registry === undefined) throw new Error('The exporter serves metrics: set METRICS_PORT.');
  const { database } = await openSettled(deps);
  const { retention, recordings } = deps.config;
  registerStateMetrics(deps.registry, database, {
    ...retention,
    recordings: recordings.retentionDays,
    testRecordings: recordings.testRetentionDays,
  });
  const watch = await watchServers(deps, database);
  return { close: () => closeAll(watch, database) };
}

/** Decrypts for operators what Temporal stores. It connects to no other server. */
async function startCodec({ config, logger }: RoleDeps): Promise<RunningRole> {
  const { startCodecServer } = await import('./platform/temporal/codec-server/codec-server.js');
  const { createPayloadCodec } = await import('./platform/temporal/payload-codec.js');
  const { token, ...settings } = config.codec;
  const { payloadKeys } = config.temporal;
  if (token === undefined) throw new Error('The codec server needs a token: set CODEC_TOKEN.');
  if (payloadKeys.keys.length === 0) throw new Error('The codec server needs keys: set TEMPORAL_PAYLOAD_KEYS.');
  const server = await startCodecServer({ ...settings, token, codec: createPayloadCodec(payloadKeys), logger });
  return { close: async () => server.close() };
}

/** Serves the metrics of this process, if METRICS_PORT is set, until the process ends. */
async function serveMetrics(role: RoleName, config: Config, logger: Logger): Promise<Registry | undefined> {
  const { host, port } = config.metrics;
  if (port === undefined) return undefined;
  const { createMetrics } = await import('./platform/telemetry/metrics/metrics.js');
  const { startMetricsServer } = await import('./platform/telemetry/metrics/metrics-server.js');
  const { registry } = createMetrics({ role, logger });
  // Alerts must tell a process that starts, or waits for a server, from one that serves.
  report('serving', { role, serving: false });
  // The exporter is ready while it can read the state of the service.
  const readState = async () => {
    const metric = registry.getSingleMetric('callwright_calls_in_progress');
    if (metric === undefined) throw new Error('The exporter is starting.');
    await metric.get();
  };
  const checkReadiness = role === 'exporter' ? readState : undefined;
  await startMetricsServer({ registry, host, port, logger, checkReadiness });
  return registry;
}

/** Starts traces of this process, if a collector is configured. */
async function startTracing(
  role: RoleName,
  { tracing: settings }: Config,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (settings === undefined || !['api', 'worker', 'media'].includes(role)) return undefined;
  const { createTracing } = await import('./platform/telemetry/tracing/create-tracing.js');
  return createTracing({ settings, role, logger });
}

/**
 * Adds the simulated carrier's tokens that are not configured. They are stored in the database, to which the simulator
 * connects only if it needs them.
 */
async function simulatorConfig(deps: RoleDeps): Promise<Config> {
  const { live, test } = deps.config.carriers;
  if (live.unsettled !== true && test.unsettled !== true) return deps.config;
  const { database, config } = await openSettled(deps);
  await database.close();
  return config;
}

async function openServices(deps: RoleDeps) {
  const { createCallGateway } = await import('./calls/gateway.js');
  const { database, config } = await openSettled(deps);
  // The gateway connects when it is first used. So the process can start while Temporal is unavailable, and responds
  // with 503 meanwhile.
  const gateway = await createCallGateway({ config, interceptors: deps.tracing?.clientInterceptors });
  return { config, database, gateway };
}

/** Reports and logs whether MongoDB and Temporal respond. */
async function watchServers({ logger }: RoleDeps, database: MongoDatabase, checkTemporal?: () => Promise<unknown>) {
  const { pingMongodb } = await import('./platform/mongo/connection.js');
  const mongodb = () => pingMongodb(database);
  return watchDependencies({ logger, checks: { mongodb, ...(checkTemporal && { temporal: checkTemporal }) } });
}

/** Opens the database. Adds the simulated carrier's tokens that are stored there to the configuration. */
async function openSettled(deps: RoleDeps) {
  const { openDatabase } = await import('./database.js');
  const { requireReplicaSet } = await import('./platform/mongo/connection.js');
  const { withDeploymentTokens } = await import('./platform/secrets/deployment-tokens.js');
  const database = await until('mongodb', deps, () => openDatabase(deps.config.mongodbUri, { waitMs: 2_000 }));
  requireReplicaSet(deps.config, database);
  return { database, config: await withDeploymentTokens(deps.config, database) };
}

/**
 * Repeats an attempt until it succeeds, because servers and roles start in any order. Reports the server as down meanwhile:
 * the watch of dependencies begins only later.
 */
async function until<T>(
  dependency: Measurements['dependency']['dependency'],
  { logger, stop }: RoleDeps,
  attempt: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + SERVERS_TIMEOUT_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await attempt();
      if (tries > 1) report('dependency', { dependency, up: true });
      return result;
    } catch (error) {
      if (stop.aborted || Date.now() > deadline) throw error;
      report('dependency', { dependency, up: false });
      if (tries === 1) logger.info(`waiting for ${SERVER_NAMES[dependency]}`);
      await sleep(RETRY_MS, undefined, { signal: stop });
    }
  }
}

async function closeAll(...parts: { close(): Promise<unknown> }[]): Promise<void> {
  for (const part of parts) await part.close();
}

main(process.argv[2], process.env).catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  // Collectors of logs expect JSON in production.
  if (process.env['NODE_ENV'] === 'production')
    createLogger({ role: process.argv[2] ?? 'none', level: 'info' }).fatal(message);
  else process.stderr.write(`${message}\n`);
  process.exit(1);
});
