import { Client, Connection, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Config } from '../../platform/config/config.js';
import { RECONCILE_SCHEDULE_ID, RECONCILE_WORKFLOW_TYPE, type ReconciliationRound } from './round.js';

const DEFAULT_TASK_QUEUE = 'callwright';
const TIMEOUT_MS = 10_000;
/** A round that workers do not take up is given up, so that the next is not kept from starting. */
const ROUND_TIMEOUT = '20 minutes';

type ReconcileFunction = () => Promise<ReconciliationRound>;

/**
 * Makes Temporal start a round of reconciliation each minute, never two at once; safe to repeat, and brings an older
 * schedule up to date.
 * @throws when Temporal does not answer
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
      // Rounds missed while Temporal was away are not made up for: one looks at everything that they would have.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    };
    try {
      await schedule.create({ scheduleId, ...wanted });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // An operator's pause stays.
      await schedule.getHandle(scheduleId).update(({ state }) => ({ ...wanted, state }));
    }
  });
}

/**
 * Runs one round now, beside the schedule's, and waits for it.
 * @throws when Temporal does not answer, a step of the round failed, or no worker took it up within `waitMs`
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

/** One per task queue: deployments that share a namespace have a database, and so a reconciler, each. */
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
