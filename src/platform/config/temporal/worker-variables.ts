import { z } from 'zod';
import { QUEUES, queueList, type Queue } from './task-queues.js';

const count = z.coerce.number().int().min(1);
const workflowTasks = count.min(2).max(1_000);
const activities = count.max(5_000);
const pollers = count.max(200);

/** Environment variables of workers. */
export const workerVariables = {
  WORKER_BUILD_ID: z.string().optional().meta({
    description:
      'turns on [Worker Versioning](operations/upgrade.md#worker-versioning): a call ends on the code it began on',
    production: '',
  }),
  WORKER_DEPLOYMENT_NAME: z
    .string()
    .default('callwright')
    .meta({ description: 'deployment to which the worker’s versions belong', compose: 'callwright' }),
  WORKER_QUEUES: queueList.default([...QUEUES]).meta({
    description:
      '[task queues](operations/scale.md#task-queues) that a worker serves: `calls`, `background` or both, separated by commas. Each needs a worker',
    shown: `\`${QUEUES.join(',')}\``,
  }),
  WORKER_MAX_CACHED_CALLS: count
    .default(2_000)
    .meta({ description: 'live calls in progress that a worker keeps in memory, about 130 kB each', compose: '2000' }),
  WORKER_CALL_SLOTS: workflowTasks
    .default(40)
    .describe('workflow tasks of live calls that a worker runs at once; more only with more cores'),
  WORKER_ACTIVITY_SLOTS: activities
    .default(100)
    .describe(
      'activities of live calls that a worker runs at once, and as many local ones; raise it if `temporal_worker_task_slots_available` reaches 0 while the processor is idle',
    ),
  WORKER_CALL_POLLERS: pollers
    .min(2)
    .default(10)
    .describe('requests for workflow tasks of live calls that a worker keeps open at Temporal'),
  WORKER_ACTIVITY_POLLERS: pollers
    .default(10)
    .describe('requests for activities of live calls that a worker keeps open at Temporal'),
  WORKER_BACKGROUND_MAX_CACHED: count
    .default(500)
    .describe('test calls in progress and other background workflows that a worker keeps in memory'),
  WORKER_BACKGROUND_SLOTS: workflowTasks
    .default(10)
    .describe('workflow tasks of the queue `background` that a worker runs at once'),
  WORKER_BACKGROUND_ACTIVITY_SLOTS: activities
    .default(60)
    .describe(
      'activities of the queue `background` that a worker runs at once, and as many local ones. At most half of them send webhooks',
    ),
  WORKER_BACKGROUND_POLLERS: pollers
    .min(2)
    .default(4)
    .describe('requests for workflow tasks of the queue `background` that a worker keeps open at Temporal'),
  WORKER_BACKGROUND_ACTIVITY_POLLERS: pollers
    .default(4)
    .describe('requests for activities of the queue `background` that a worker keeps open at Temporal'),
  WORKER_STACK_FRAMES: z.coerce
    .number()
    .int()
    .min(0)
    .max(50)
    .default(2)
    .describe(
      'frames in the stack traces of workflow code. With `10`, the call stack in Temporal’s UI shows where a workflow waits; that costs memory for each open call and CPU time for each step',
    ),
  WORKER_METRICS_ADDRESS: z
    .string()
    .regex(/^[^:\s]+:\d{1,5}$/, 'must be a host and a port, like 127.0.0.1:9464')
    .optional()
    .meta({
      description: 'address on which a worker serves Prometheus metrics, such as `127.0.0.1:9464`; keep it private',
      // Prometheus asks for it in deploy/prometheus/prometheus.yml.
      fixed: '0.0.0.0:9464',
    }),
};

export type WorkerValues = z.output<z.ZodObject<typeof workerVariables>>;

/** How much of one queue a worker takes at once. */
export interface WorkerCapacity {
  /** Workflows that it keeps in memory. */
  maxCached: number;
  /** Tasks that run at once. */
  slots: { workflowTasks: number; activities: number };
  /** Requests for tasks that wait at Temporal. */
  pollers: { workflowTasks: number; activities: number };
}

export function workerCapacities(values: WorkerValues): Readonly<Record<Queue, WorkerCapacity>> {
  return {
    calls: {
      maxCached: values.WORKER_MAX_CACHED_CALLS,
      slots: { workflowTasks: values.WORKER_CALL_SLOTS, activities: values.WORKER_ACTIVITY_SLOTS },
      pollers: { workflowTasks: values.WORKER_CALL_POLLERS, activities: values.WORKER_ACTIVITY_POLLERS },
    },
    background: {
      maxCached: values.WORKER_BACKGROUND_MAX_CACHED,
      slots: { workflowTasks: values.WORKER_BACKGROUND_SLOTS, activities: values.WORKER_BACKGROUND_ACTIVITY_SLOTS },
      pollers: {
        workflowTasks: values.WORKER_BACKGROUND_POLLERS,
        activities: values.WORKER_BACKGROUND_ACTIVITY_POLLERS,
      },
    },
  };
}
