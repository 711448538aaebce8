import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Worker } from '@temporalio/worker';
import { sendOnce, startPrivateServer } from '../src/platform/http/server/private-server.js';
import { createDependencyChecks, type DependencyState } from '../src/platform/telemetry/readiness.js';

export interface WorkerReadiness {
  status: 'ready' | 'unavailable';
  /** Whether the process asks Temporal for tasks of all its queues. `away`: it stops, or asking has failed for good. */
  pollers: DependencyState;
  temporal: DependencyState;
}

/**
 * Returns a function that tells whether a process can take tasks. It never rejects.
 * @param workers one for each queue
 * @param checkTemporal rejects if Temporal does not respond
 */
export function createWorkerReadiness(
  workers: readonly Pick<Worker, 'getStatus'>[],
  checkTemporal: () => Promise<void>,
): () => Promise<WorkerReadiness> {
  const checkDependencies = createDependencyChecks({ temporal: checkTemporal });
  return async () => {
    const { temporal } = await checkDependencies();
    const arePolling = workers.every(isPolling);
    const status = arePolling && temporal === 'ok' ? 'ready' : 'unavailable';
    return { status, pollers: arePolling ? 'ok' : 'away', temporal };
  };
}

function isPolling(worker: Pick<Worker, 'getStatus'>): boolean {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  return runState === 'RUNNING' && workflowPollerState === 'POLLING' && activityPollerState === 'POLLING';
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
