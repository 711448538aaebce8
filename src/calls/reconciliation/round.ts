/** Names and results of the reconciler's workflow. */
export const RECONCILE_WORKFLOW_TYPE = 'ReconcileWorkflow';
export const RECONCILE_SCHEDULE_ID = 'reconcile-ledger';

/** What one round did. */
export interface ReconciliationRound {
  auditedAccounts: number;
  comparedCalls: number;
  /** Skipped records, which name no call or no ledger account; their ids are in the log. */
  brokenRecords: number;
  /** Calls that their workflow had left and that are final now. */
  endedCalls: number;
  /** Estimated bills corrected to the carrier's figure. */
  correctedBills: number;
  releasedLeases: number;
  newFindings: number;
  /** Findings that wait for an operator, of this round and earlier ones. */
  openFindings: number;
  /** Recordings past their retention. */
  deletedRecordings: number;
}

/** The workflow that sends a call's webhook when the call's own cannot. */
export function notifyWorkflowId(callId: string): string {
  return `notify-${callId}`;
}
