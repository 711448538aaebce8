import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { runCommand } from '../../src/dev/processes/run-command.js';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import type { ShapeContext } from './context.js';
import { NAMESPACE } from './servers/temporal.js';

export const DEPLOYMENT = 'callwright';
const CURRENT_WITHIN_MS = 120_000;
const DRAINED_WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 500;
const { VERSION_DRAINAGE_STATUS_DRAINED } = temporal.api.enums.v1.VersionDrainageStatus;

/** Makes new calls start on the workers with this build id, as the Helm chart does after each upgrade. */
export async function setCurrentVersion(context: ShapeContext, env: NodeJS.ProcessEnv, buildId: string): Promise<void> {
  await runCommand({
    what: `making ${buildId} the current version`,
    file: process.execPath,
    args: [join(packageRoot(), 'dist/deploy/set-current-version.js')],
    cwd: context.folder,
    env: { ...env, WORKER_BUILD_ID: buildId, WORKER_DEPLOYMENT_NAME: DEPLOYMENT },
    timeoutMs: CURRENT_WITHIN_MS,
    report: context.report,
    signal: context.signal,
  });
}

/** Waits until no call runs on this version, as `temporal worker deployment describe` shows it. */
export async function waitUntilDrained(address: string, buildId: string): Promise<void> {
  await withConnection(address, async ({ workflowService }) => {
    const deadline = Date.now() + DRAINED_WITHIN_MS;
    let last = 'it was not described';
    while (Date.now() < deadline) {
      try {
        const request = { namespace: NAMESPACE, deploymentName: DEPLOYMENT };
        const { workerDeploymentInfo: info } = await workflowService.describeWorkerDeployment(request);
        const version = info?.versionSummaries?.find((each) => each.deploymentVersion?.buildId === buildId);
        if (version?.drainageInfo?.status === VERSION_DRAINAGE_STATUS_DRAINED) return;
        last = JSON.stringify(version?.drainageInfo);
      } catch (error) {
        // A server that is short of time may not find the deployment for a moment.
        last = String(error);
      }
      await sleep(LOOK_EVERY_MS);
    }
    throw new Error(`version ${buildId} was not drained within ${DRAINED_WITHIN_MS / 1_000} s: ${last}`);
  });
}

async function withConnection<T>(address: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
