import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Config } from '../../platform/config/config.js';
import { withTemporalClient } from '../../platform/temporal/with-client.js';
import { RECONCILE_SCHEDULE_ID, RECONCILE_WORKFLOW_TYPE, type ReconciliationRound } from './round.js';

const DEFAULT_TASK_QUEUE = 'callwright';
/** If no worker runs a round, it times out after this time, so that the next one can start. */
const ROUND_TIMEOUT = '20 minutes';

type ReconcileFunction = () => Promise<ReconciliationRound>;

/**
 * Creates or updates the Temporal schedule, which starts a round of reconciliation every minute unless one is running.
 * @throws when Temporal is unavailable
 */
export async function scheduleReconciliation(config: Config): Promise<void> {
  await withTemporalClient(config, async ({ schedule }) => {
    const scheduleId = scheduleIdOf(config);
    const wanted = {
      spec: { intervals: [{ every: '1 minute' }] },
      action: {
        type: 'startWorkflow' as const,
        workflowType: RECONCILE_WORKFLOW_TYPE,
        workflowId: scheduleId,
        taskQueue: config.temporal.taskQueues.background,
        workflowRunTimeout: ROUND_TIMEOUT,
      },
      // Do not run rounds that were missed while Temporal was unavailable: the next round does their work, too.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    };
    try {
      await schedule.create({ scheduleId, ...wanted });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // Keep the schedule's state, because an operator may have paused it.
      await schedule.getHandle(scheduleId).update(({ state }) => ({ ...wanted, state }));
    }
  });
}

/**
 * Runs one round now, whatever the schedule's state, and waits for its result.
 * @throws when Temporal is unavailable, a step fails, or the round does not finish within `waitMs`
 */
export async function reconcileNow(config: Config, waitMs: number): Promise<ReconciliationRound> {
  return withTemporalClient(config, async ({ workflow }) => {
    const run = await workflow.start<ReconcileFunction>(RECONCILE_WORKFLOW_TYPE, {
      workflowId: `${scheduleIdOf(config)}-now`,
      taskQueue: config.temporal.taskQueues.background,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowRunTimeout: waitMs,
      args: [],
    });
    return run.result();
  });
}

/**
 * Returns one id per task queue. Deployments that share a namespace have separate databases and need separate
 * schedules.
 */
function scheduleIdOf({ temporal }: Config): string {
  const { calls } = temporal.taskQueues;
  return calls === DEFAULT_TASK_QUEUE ? RECONCILE_SCHEDULE_ID : `${RECONCILE_SCHEDULE_ID}-${calls}`;
}
