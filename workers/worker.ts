import { createCallGate } from '../src/calls/wiring.js';
import { IllegalStateError } from '@temporalio/common';
import { NativeConnection, Runtime, Worker, makeTelemetryFilterString } from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.js';
import { createCarriers } from '../src/telephony/carriers.js';
import type { Carriers } from '../src/telephony/port.js';
import type { Config } from '../src/platform/config/config.js';
import type { WorkerCapacity } from '../src/platform/config/temporal/worker-variables.js';
import type { Database } from '../src/database.js';
import type { Logger } from '../src/platform/telemetry/logger.js';
import { VERSION } from '../src/kernel/version.js';
import { connectionOptions } from '../src/platform/temporal/connection.js';
import { createDataConverter } from '../src/platform/temporal/data-converter.js';
import { createTemporalCheck } from '../src/platform/temporal/health.js';
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
  /** Called when every queue is served, with the check of readiness. */
  onReady?: (checkReadiness: () => Promise<WorkerReadiness>) => void;
}

/**
 * Serves the configured task queues until `stop` is aborted, then drains. Any number of workers may run; if one dies,
 * another continues its calls.
 * @throws when Temporal is unreachable at startup, the bundle is missing, or a queue can no longer be served
 */
export async function runWorker(deps: WorkerDeps): Promise<void> {
  const { config, database, logger, stop, tracing, carriers = createCarriers({ config }) } = deps;
  const { namespace, taskQueues, payloadKeys } = config.temporal;
  const codePath =
    deps.bundlePath ?? bundleFile({ traced: tracing !== undefined, encrypted: payloadKeys.newest !== undefined });
  installRuntime(config, logger);
  const dialGate = createCallGate({ config, database });
  await dialGate.loadNumberingPlans();
  if (stop.aborted) return;
  const connection = await NativeConnection.connect(connectionOptions(config.temporal));
  try {
    const shared = {
      connection,
      namespace,
      workflowBundle: { codePath },
      dataConverter: createDataConverter(payloadKeys),
      ...tracing?.workerOptions,
      activities: createActivities({ config, database, carriers, logger, dialGate }),
      shutdownGraceTime: SHUTDOWN_GRACE,
      shutdownForceTime: SHUTDOWN_FORCE,
      ...versioning(config),
    };
    const workers = await Promise.all(
      config.worker.queues.map((queue) =>
        Worker.create({ ...shared, taskQueue: taskQueues[queue], ...limits(config.worker.capacity[queue]) }),
      ),
    );
    const ended = runAll(workers, stop);
    logger.info({ taskQueues: config.worker.queues.map((queue) => taskQueues[queue]) }, 'worker ready');
    const [queue = 'calls'] = config.worker.queues;
    const checkTemporal = createTemporalCheck({ connection, namespace, taskQueue: taskQueues[queue] });
    deps.onReady?.(createWorkerReadiness(workers, checkTemporal));
    await ended;
  } finally {
    await connection.close();
  }
}

/**
 * Runs the workers of a process until `stop` is aborted or one of them ends. Then all of them drain, so that the process
 * ends rather than serves only one of its queues.
 */
async function runAll(workers: readonly Worker[], stop: AbortSignal): Promise<void> {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const runs = workers.map((worker) => worker.run().finally(shutdown));
  stop.addEventListener('abort', shutdown, { once: true });
  if (stop.aborted) shutdown();
  // The connection can be closed only when every worker has ended.
  await Promise.allSettled(runs);
  await Promise.all(runs);
}

/** How much of its queue a worker takes at once. */
function limits({ maxCached, slots, pollers }: WorkerCapacity) {
  return {
    maxCachedWorkflows: maxCached,
    maxConcurrentWorkflowTaskExecutions: slots.workflowTasks,
    maxConcurrentActivityTaskExecutions: slots.activities,
    maxConcurrentLocalActivityExecutions: slots.activities,
    // The SDK ignores maxConcurrentWorkflowTaskPolls and maxConcurrentActivityTaskPolls.
    workflowTaskPollerBehavior: atMost(pollers.workflowTasks, slots.workflowTasks),
    activityTaskPollerBehavior: atMost(pollers.activities, slots.activities),
  };
}

function atMost(pollers: number, slots: number) {
  return { type: 'simple-maximum' as const, maximum: Math.min(pollers, slots) };
}

/**
 * With a build id, calls stay pinned to the code that they started on, so old workers must run until their calls have
 * ended. Without one, histories say which release did a task: the SDK's default is a hash of 90 characters in each task.
 */
function versioning({ worker: { buildId, deploymentName } }: Config) {
  const versioned = { useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' } as const;
  const version = { buildId: buildId ?? VERSION, deploymentName };
  return {
    workerDeploymentOptions: {
      ...(buildId === undefined ? { useWorkerVersioning: false as const } : versioned),
      version,
    },
  };
}

/** Installs the SDK's runtime, one per process. Its warnings and errors go to our log. */
function installRuntime({ worker }: Config, logger: Logger): void {
  try {
    Runtime.install({
      logger: createSdkLogger(logger),
      shutdownSignals: [],
      telemetryOptions: {
        // The lines of native code go to our log, too.
        logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
        ...(worker.metricsAddress === undefined
          ? {}
          : { metrics: { prometheus: { ...METRICS_FORMAT, bindAddress: worker.metricsAddress } } }),
      },
    });
  } catch (error) {
    // Tests run several workers in one process, which share the first one's runtime.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
