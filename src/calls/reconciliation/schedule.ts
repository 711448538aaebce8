import { Client, Connection, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Config } from '../../platform/config/config.js';
import { RECONCILE_SCHEDULE_ID, RECONCILE_WORKFLOW_TYPE, type ReconciliationRound } from './round.js';

const DEFAULT_TASK_QUEUE = 'callwright';
const TIMEOUT_MS = 10_000;
/** A round that no worker runs times out, so that the next one can start. */
const ROUND_TIMEOUT = '20 minutes';

type ReconcileFunction = () => Promise<ReconciliationRound>;

/**
 * Creates, or updates, the Temporal schedule that starts a round of reconciliation every minute, never two at once.
 * @throws when Temporal is unavailable
 */
export async function scheduleReconciliation(config: Config): Promise<void> {
  await withClient(config, async ({ schedule }) => {
    const { taskQueue } = config.temporal;
    const scheduleId = scheduleIdOf(config);
    const wanted = {
      spec: { intervals: [{ every: '1 minute' }] },
      action: {
        type: 'startWorkflow' as const,
        workflowType: RECONCILE_WORKFLOW_TYPE,
        workflowId: scheduleId,
        taskQueue,
        workflowRunTimeout: ROUND_TIMEOUT,
      },
      // Rounds missed while Temporal was unavailable are not caught up: one round covers what they would have.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    };
    try {
      await schedule.create({ scheduleId, ...wanted });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // Keep the state: an operator may have paused the schedule.
      await schedule.getHandle(scheduleId).update(({ state }) => ({ ...wanted, state }));
    }
  });
}

/**
 * Runs one round now, independently of the schedule, and waits for its result.
 * @throws when Temporal is unavailable, a step fails, or the round does not finish within `waitMs`
 */
export async function reconcileNow(config: Config, waitMs: number): Promise<ReconciliationRound> {
  return withClient(config, async ({ workflow }) => {
    const run = await workflow.start<ReconcileFunction>(RECONCILE_WORKFLOW_TYPE, {
      workflowId: `${scheduleIdOf(config)}-now`,
      taskQueue: config.temporal.taskQueue,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowRunTimeout: waitMs,
      args: [],
    });
    return run.result();
  });
}

/** One schedule per task queue: deployments that share a namespace each have their own database and reconciler. */
function scheduleIdOf({ temporal }: Config): string {
  const { taskQueue } = temporal;
  return taskQueue === DEFAULT_TASK_QUEUE ? RECONCILE_SCHEDULE_ID : `${RECONCILE_SCHEDULE_ID}-${taskQueue}`;
}

async function withClient<T>(config: Config, work: (client: Client) => Promise<T>): Promise<T> {
  const { address, namespace, tls, apiKey } = config.temporal;
  const connection = await Connection.connect({
    address,
    tls,
    connectTimeout: TIMEOUT_MS,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  try {
    return await work(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}
