import { Context } from '@temporalio/activity';
import { createReconciler, type ReconcilerDeps } from '../src/calls/reconciliation/reconciler.js';
import { readRunState } from '../src/calls/runs.js';
import { withHeartbeats } from './with-heartbeats.js';

/** The steps of a round of reconciliation, with heartbeats and metrics. */
export function createReconciliationActivities(deps: Omit<ReconcilerDeps, 'readRun' | 'mismatchFound'>) {
  const reconciler = createReconciler({
    ...deps,
    readRun: (workflowId) => readRunState(Context.current().client, workflowId),
    mismatchFound: (kind) =>
      Context.current()
        .metricMeter.createCounter(
          'callwright_reconciliation_findings',
          'finding',
          'Mismatches found by reconciliation',
        )
        .add(1, { kind }),
  });

  return {
    auditLedgerAccounts: () => withHeartbeats(() => reconciler.auditLedgerAccounts()),
    releaseLeases: () => withHeartbeats(() => reconciler.releaseLeases()),
    followUp: () => withHeartbeats(() => reconciler.followUp()),

    compareRecords: () =>
      withHeartbeats(async () => {
        const compared = await reconciler.compareRecords();
        countBroken(compared.broken);
        return compared;
      }),

    /** Counts the open findings, and sets a gauge to their number for alerts. */
    async countOpenFindings(): Promise<number> {
      const open = await reconciler.countOpenFindings();
      Context.current()
        .metricMeter.createGauge('callwright_reconciliation_open_findings', 'int', 'finding', 'Findings to be resolved')
        .set(open);
      return open;
    },
  };
}

function countBroken(broken: number): void {
  if (broken === 0) return;
  const { metricMeter } = Context.current();
  metricMeter
    .createCounter('callwright_reconciliation_broken_records', 'record', 'Records that reconciliation skipped')
    .add(broken);
}
