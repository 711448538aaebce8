import type { ScaleService } from './scale-service.js';

/** Temporal's values for the kinds of tasks: workflow and activity. */
const TASK_QUEUE_TYPES = [1, 2] as const;

/** Returns the number of tasks of live calls that wait for a worker. */
export async function readBacklog({ client, taskQueue }: Pick<ScaleService, 'client' | 'taskQueue'>): Promise<number> {
  const counts = await Promise.all(
    TASK_QUEUE_TYPES.map(async (taskQueueType) => {
      const { stats } = await client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: taskQueue },
        taskQueueType,
        reportStats: true,
      });
      return Number(stats?.approximateBacklogCount ?? 0);
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
