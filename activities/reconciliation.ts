import { Context } from '@temporalio/activity';
import { createReconciler, type ReconcilerDeps } from '../src/calls/reconciliation/reconciler.js';
import { readRunState } from '../src/calls/runs.js';
import { report } from '../src/platform/telemetry/measurements.js';
import { withHeartbeats } from './with-heartbeats.js';

/** The steps of a round of reconciliation, with heartbeats and metrics. */
export function createReconciliationActivities(deps: Omit<ReconcilerDeps, 'readRun' | 'mismatchFound'>) {
  const reconciler = createReconciler({
    ...deps,
    readRun: (workflowId) => readRunState(Context.current().client, workflowId),
    mismatchFound: (kind) => report('reconciliationFinding', { kind }),
  });

  return {
    auditLedgerAccounts: () => withHeartbeats(() => reconciler.auditLedgerAccounts()),
    releaseLeases: () => withHeartbeats(() => reconciler.releaseLeases()),
    followUp: () => withHeartbeats(() => reconciler.followUp()),

    compareRecords: () =>
      withHeartbeats(async () => {
        const compared = await reconciler.compareRecords();
        if (compared.broken > 0) report('brokenRecords', { count: compared.broken });
        return compared;
      }),

    countOpenFindings: (): Promise<number> => reconciler.countOpenFindings(),
  };
}
