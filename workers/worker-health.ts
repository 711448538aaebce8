import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NativeConnection, Worker } from '@temporalio/worker';
import { sendOnce, startPrivateServer } from '../src/platform/http/server/private-server.js';
import { createDependencyChecks, type DependencyState } from '../src/platform/telemetry/readiness.js';

const TEMPORAL_TIMEOUT_MS = 1_000;

export interface WorkerReadiness {
  status: 'ready' | 'unavailable';
  /** Whether the worker asks Temporal for tasks. `away`: it stops, or asking has failed for good. */
  pollers: DependencyState;
  temporal: DependencyState;
}

/** Returns a function that tells whether a worker can take tasks. It never rejects. */
export function createWorkerReadiness(
  worker: Pick<Worker, 'getStatus'>,
  connection: NativeConnection,
): () => Promise<WorkerReadiness> {
  const checkDependencies = createDependencyChecks({
    temporal: () =>
      connection.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, () => connection.workflowService.getSystemInfo({})),
  });
  return async () => {
    const { temporal } = await checkDependencies();
    const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
    const isPolling = runState === 'RUNNING' && workflowPollerState === 'POLLING' && activityPollerState === 'POLLING';
    const status = isPolling && temporal === 'ok' ? 'ready' : 'unavailable';
    return { status, pollers: isPolling ? 'ok' : 'away', temporal };
  };
}

/**
 * Answers health checks of a worker. A process that hangs answers none.
 * @param p.checkReadiness undefined while the worker is starting
 */
export async function startWorkerHealth(p: {
  host: string;
  port: number;
  checkReadiness: () => Promise<WorkerReadiness> | undefined;
}): Promise<{ port: number; close(): void }> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/health/live') return respond(response, 200, { status: 'live' });
    if (request.url !== '/health/ready') return respond(response, 404, { status: 'not_found' });
    const readiness = (await p.checkReadiness()) ?? { status: 'starting' };
    return respond(response, readiness.status === 'ready' ? 200 : 503, readiness);
  }

  return startPrivateServer({ host: p.host, port: p.port, answer });
}

function respond(response: ServerResponse, status: number, body: object): void {
  sendOnce(response, status, 'application/json', JSON.stringify(body));
}
