import type { ConnectionLike } from '@temporalio/client';

const TIMEOUT_MS = 1_000;

/** How long a response of Temporal's services counts. Health is asked often, and their answers cost more than that of the frontend. */
const COUNTS_FOR_MS = 5_000;

/** The gRPC codes PERMISSION_DENIED and UNIMPLEMENTED: Temporal responds, and only does not let us ask. */
const NOT_FOR_US: ReadonlySet<unknown> = new Set([7, 12]);

const WORKFLOW_TASKS = 1;

/**
 * Returns a function that checks whether Temporal works: its frontend each time, and every few seconds also its database,
 * from which the namespace is read, and its matching service, which knows the task queue. The frontend responds without
 * these two. The function rejects if one of the three does not respond within a second.
 */
export function createTemporalCheck(p: {
  connection: Pick<ConnectionLike, 'withDeadline' | 'workflowService'>;
  namespace: string;
  taskQueue: string;
}): () => Promise<void> {
  const { connection, namespace, taskQueue } = p;
  let respondedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function askServices(deadline: number): Promise<void> {
    const queue = { namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_TASKS };
    const { workflowService } = connection;
    // Waits for both, because the connection may be closed afterwards, and a repeat of the client would then throw.
    const answers = await connection.withDeadline(deadline, () =>
      Promise.allSettled([
        orNotForUs(workflowService.describeNamespace({ namespace })),
        orNotForUs(workflowService.describeTaskQueue(queue)),
      ]),
    );
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    respondedAt = Date.now();
  }

  return async () => {
    const deadline = Date.now() + TIMEOUT_MS;
    await connection.withDeadline(deadline, () => connection.workflowService.getSystemInfo({}));
    if (Date.now() - respondedAt > COUNTS_FOR_MS) asking ??= askServices(deadline).finally(() => (asking = undefined));
    await asking;
  };
}

async function orNotForUs(response: Promise<unknown>): Promise<void> {
  try {
    await response;
  } catch (error) {
    if (!NOT_FOR_US.has((error as { code?: unknown }).code)) throw error;
  }
}
