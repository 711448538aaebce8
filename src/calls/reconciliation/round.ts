/** Type of the workflow that runs one round of reconciliation. */
export const RECONCILE_WORKFLOW_TYPE = 'ReconcileWorkflow';
export const RECONCILE_SCHEDULE_ID = 'reconcile-ledger';

/** Result of one round. */
export interface ReconciliationRound {
  auditedAccounts: number;
  comparedCalls: number;
  /** Skipped records without a valid call id or ledger account; their ids are in the log. */
  brokenRecords: number;
  /** Calls ended by this round because their workflow had not. */
  endedCalls: number;
  /** Estimated bills corrected to the carrier's duration. */
  correctedBills: number;
  releasedLeases: number;
  newFindings: number;
  /** Unresolved findings of this round and earlier ones. */
  openFindings: number;
  /** Recordings deleted because their retention has passed. */
  deletedRecordings: number;
}

/** Id of the workflow that sends a call's webhook if the call's own workflow did not. */
export function notifyWorkflowId(callId: string): string {
  return `notify-${callId}`;
}
