import { ApplicationFailure, ParentClosePolicy, patched, proxyActivities, startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Activities } from '../activities/create-activities.js';
import { notifyWorkflowId, type ReconciliationRound } from '../src/calls/reconciliation/round.js';
import { deliverWebhook } from './activity-proxies.js';

/** The activities of a round. Each has a time limit, and the next round continues where it stopped. */
const steps = proxyActivities<
  Pick<
    Activities,
    | 'auditLedgerAccounts'
    | 'releaseLeases'
    | 'compareRecords'
    | 'followUp'
    | 'countOpenFindings'
    | 'sweepRecordings'
    | 'expireSignUps'
  >
>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '60s',
  retry: { initialInterval: '1s', maximumInterval: '10s', maximumAttempts: 3 },
});

/**
 * One round of reconciliation, each minute: checks that every ledger account is the sum of its operations, that every
 * hold is settled, and that calls and ledger agree. Then deletes recordings past their retention and unverified
 * sign-ups. A failed step does not stop the others.
 * @throws ApplicationFailure naming the failed steps, after the last step
 */
export async function ReconcileWorkflow(): Promise<ReconciliationRound> {
  const failed: string[] = [];
  const step = async <T>(name: string, work: Promise<T>): Promise<T | undefined> =>
    work.catch(() => {
      failed.push(name);
      return undefined;
    });

  const audit = await step('audit', steps.auditLedgerAccounts());
  const leases = await step('leases', steps.releaseLeases());
  const records = await step('records', steps.compareRecords());
  const followUp = await step('follow-up', steps.followUp());
  await step('webhooks', startWebhookWorkflows(followUp?.notify ?? []));
  const openFindings = await step('findings', steps.countOpenFindings());
  // This step was added at the end, so that rounds started by older code replay deterministically.
  const recordings = await step('recordings', steps.sweepRecordings());
  if (patched('expire-sign-ups')) await step('sign-ups', steps.expireSignUps());
  if (failed.length > 0) throw ApplicationFailure.nonRetryable(`These steps failed: ${failed.join(', ')}.`);
  return {
    auditedAccounts: audit?.audited ?? 0,
    comparedCalls: records?.compared ?? 0,
    brokenRecords: records?.broken ?? 0,
    endedCalls: followUp?.ended ?? 0,
    correctedBills: followUp?.corrected ?? 0,
    releasedLeases: leases?.released ?? 0,
    newFindings: (audit?.found ?? 0) + (leases?.found ?? 0) + (records?.found ?? 0),
    openFindings: openFindings ?? 0,
    deletedRecordings: recordings?.deleted ?? 0,
  };
}

/** Makes the remaining attempts of a completion webhook that the call's workflow did not finish. */
export async function NotifyWorkflow(input: { callId: string }): Promise<void> {
  await deliverWebhook(input);
}

/** Starts the webhook workflow of each call. @throws ApplicationFailure after the last one, if any start failed */
async function startWebhookWorkflows(callIds: readonly string[]): Promise<void> {
  const started = await Promise.allSettled(callIds.map(startWebhookWorkflow));
  const failed = started.filter(({ status }) => status === 'rejected').length;
  if (failed > 0) throw ApplicationFailure.nonRetryable(`${failed} webhook workflows could not be started.`);
}

async function startWebhookWorkflow(callId: string): Promise<void> {
  try {
    await startChild(NotifyWorkflow, {
      workflowId: notifyWorkflowId(callId),
      args: [{ callId }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // A terminated workflow may be started again; the stored attempts show what is left to do.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
