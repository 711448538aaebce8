import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { parseConfig, type Config } from '../src/platform/config/config.js';
import { connectionOptions } from '../src/platform/temporal/connection.js';
import { runScript } from './run-script.js';

const WORKERS_WITHIN_MS = 240_000;
const RETRY_MS = 1_000;
/** PERMISSION_DENIED, UNIMPLEMENTED and UNAUTHENTICATED of gRPC. */
const PERMANENT: ReadonlySet<number> = new Set([7, 12, 16]);

/**
 * Makes new calls begin on the workers with WORKER_BUILD_ID, like `temporal worker deployment set-current-version`. Waits
 * until these workers serve the task queues of the version before. Idempotent; run it when they have started.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env);
  const { buildId, deploymentName } = config.worker;
  if (buildId === undefined) throw new Error('WORKER_BUILD_ID is not set; set it to the version of the workers.');
  await until(Date.now() + WORKERS_WITHIN_MS, () => setCurrentVersion(config, buildId));
  process.stdout.write(`Version ${buildId} of ${deploymentName} is the current one.\n`);
}

async function setCurrentVersion({ temporal, worker }: Config, buildId: string): Promise<void> {
  const connection = await Connection.connect(connectionOptions(temporal));
  try {
    await connection.workflowService.setWorkerDeploymentCurrentVersion({
      namespace: temporal.namespace,
      deploymentName: worker.deploymentName,
      buildId,
      identity: 'callwright set-current-version',
    });
  } finally {
    await connection.close();
  }
}

async function until(deadline: number, attempt: () => Promise<void>): Promise<void> {
  let said = '';
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const reason = isGrpcServiceError(error) ? error.details : String(error);
      if ((isGrpcServiceError(error) && PERMANENT.has(error.code)) || Date.now() > deadline)
        throw new Error(`The version could not be made the current one: ${reason}`, { cause: error });
      if (reason !== said) process.stdout.write(`Waiting for Temporal and the workers: ${reason}\n`);
      said = reason;
      await sleep(RETRY_MS);
    }
  }
}

runScript(main(process.env));
