import { createCallGate } from '../src/calls/wiring.js';
import { IllegalStateError } from '@temporalio/common';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.js';
import { createCarriers } from '../src/telephony/carriers.js';
import type { Carriers } from '../src/telephony/port.js';
import type { Config } from '../src/platform/config/config.js';
import type { Database } from '../src/database.js';
import type { Logger } from '../src/platform/telemetry/logger.js';
import { connectionOptions } from '../src/platform/temporal/connection.js';
import { createDataConverter } from '../src/platform/temporal/data-converter.js';
import type { TemporalInterceptors } from '../src/platform/telemetry/tracing/temporal.js';
import { bundleFile } from './bundle.js';
import { createSdkLogger } from './sdk-logger.js';
import { createWorkerReadiness, type WorkerReadiness } from './worker-health.js';

/** How long running activities may take to finish after a stop. Another worker retries unfinished ones. */
const SHUTDOWN_GRACE = '4s';
const SHUTDOWN_FORCE = '7s';
/** Names and units of the SDK's metrics, so that they follow the rules of Prometheus as ours do. */
const METRICS_FORMAT = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };

export interface WorkerDeps {
  config: Config;
  database: Database;
  logger: Logger;
  stop: AbortSignal;
  /** Defaults to the carriers of the configuration. */
  carriers?: Carriers;
  /** Absent: the worker exports no traces. */
  tracing?: TemporalInterceptors | undefined;
  /** File with the workflow code; defaults to that of the build. */
  bundlePath?: string;
  /** Called when the worker is ready to take tasks, with the check of its readiness. */
  onReady?: (checkReadiness: () => Promise<WorkerReadiness>) => void;
}

/**
 * Runs a worker until `stop` is aborted, then drains it. Any number of workers may run; if one dies, another continues
 * its calls.
 * @throws when Temporal is unreachable at startup, or the bundle is missing
 */
export async function runWorker(deps: WorkerDeps): Promise<void> {
  const { config, database, logger, stop, tracing, carriers = createCarriers({ config }) } = deps;
  const { namespace, taskQueue, payloadKeys } = config.temporal;
  const codePath =
    deps.bundlePath ?? bundleFile({ traced: tracing !== undefined, encrypted: payloadKeys.newest !== undefined });
  installRuntime(config, logger);
  const dialGate = createCallGate({ config, database });
  await dialGate.loadNumberingPlans();
  const connection = await NativeConnection.connect(connectionOptions(config.temporal));
  try {
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: { codePath },
      dataConverter: createDataConverter(payloadKeys),
      ...tracing?.workerOptions,
      activities: createActivities({ config, database, carriers, logger, dialGate }),
      ...capacity(config),
      shutdownGraceTime: SHUTDOWN_GRACE,
      shutdownForceTime: SHUTDOWN_FORCE,
      ...versioning(config),
    });
    const shutdown = () => worker.shutdown();
    if (stop.aborted) return;
    stop.addEventListener('abort', shutdown, { once: true });
    logger.info({ taskQueue }, 'worker ready');
    const run = worker.run();
    deps.onReady?.(createWorkerReadiness(worker, connection));
    await run;
  } finally {
    await connection.close();
  }
}

/** How much the worker takes at once. */
function capacity({ worker: { maxCachedCalls, slots, pollers } }: Config) {
  return {
    maxCachedWorkflows: maxCachedCalls,
    maxConcurrentWorkflowTaskExecutions: slots.calls,
    maxConcurrentActivityTaskExecutions: slots.activities,
    maxConcurrentLocalActivityExecutions: slots.activities,
    maxConcurrentWorkflowTaskPolls: Math.min(pollers.calls, slots.calls),
    maxConcurrentActivityTaskPolls: Math.min(pollers.activities, slots.activities),
  };
}

/**
 * With a build id, calls stay pinned to the code that they started on, so old workers must run until their calls have
 * ended.
 */
function versioning({ worker }: Config) {
  if (worker.buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      useWorkerVersioning: true as const,
      version: { buildId: worker.buildId, deploymentName: worker.deploymentName },
      defaultVersioningBehavior: 'PINNED' as const,
    },
  };
}

/** Installs the SDK's runtime, one per process. Its warnings and errors go to our log. */
function installRuntime({ worker }: Config, logger: Logger): void {
  try {
    Runtime.install({
      logger: createSdkLogger(logger),
      shutdownSignals: [],
      ...(worker.metricsAddress === undefined
        ? {}
        : { telemetryOptions: { metrics: { prometheus: { ...METRICS_FORMAT, bindAddress: worker.metricsAddress } } } }),
    });
  } catch (error) {
    // Tests run several workers in one process, which share the first one's runtime.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
