import type { ConnectionLike } from '@temporalio/client';

const TIMEOUT_MS = 1_000;

/** How long a response of Temporal's services counts. Health is asked often, and their answers cost more than that of the frontend. */
const COUNTS_FOR_MS = 5_000;

/** The gRPC codes PERMISSION_DENIED and UNIMPLEMENTED: Temporal responds, and only does not let us ask. */
const NOT_FOR_US: ReadonlySet<unknown> = new Set([7, 12]);

const WORKFLOW_TASKS = 1;

/**
 * Returns a function that checks whether Temporal works: its frontend each time, and every few seconds also its database,
 * from which the namespace is read, and its matching service, which knows the task queue. The frontend alone responds
 * without both of them. The function rejects if one of them does not respond within a second.
 */
export function createTemporalCheck(p: {
  connection: Pick<ConnectionLike, 'withDeadline' | 'workflowService'>;
  namespace: string;
  taskQueue: string;
}): () => Promise<void> {
  const { connection, namespace, taskQueue } = p;
  let respondedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const within = <T>(request: () => Promise<T>) => connection.withDeadline(Date.now() + TIMEOUT_MS, request);

  async function askServices(): Promise<void> {
    const queue = { namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_TASKS };
    await within(() =>
      Promise.all([
        orNotForUs(connection.workflowService.describeNamespace({ namespace })),
        orNotForUs(connection.workflowService.describeTaskQueue(queue)),
      ]),
    );
    respondedAt = Date.now();
  }

  return async () => {
    if (Date.now() - respondedAt > COUNTS_FOR_MS) asking ??= askServices().finally(() => (asking = undefined));
    await Promise.all([within(() => connection.workflowService.getSystemInfo({})), asking]);
  };
}

async function orNotForUs(response: Promise<unknown>): Promise<void> {
  try {
    await response;
  } catch (error) {
    if (!NOT_FOR_US.has((error as { code?: unknown }).code)) throw error;
  }
}
