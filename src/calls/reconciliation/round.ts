/** Type of the workflow that runs one round of reconciliation. */
export const RECONCILE_WORKFLOW_TYPE = 'ReconcileWorkflow';
export const RECONCILE_SCHEDULE_ID = 'reconcile-ledger';

/** Result of one round. */
export interface ReconciliationRound {
  auditedAccounts: number;
  comparedCalls: number;
  /** Number of records skipped because they have no valid call id or ledger account. The log contains their ids. */
  brokenRecords: number;
  /** Number of calls that this round ended because their workflows had not done so. */
  endedCalls: number;
  /** Number of estimated bills corrected to the carrier's duration. */
  correctedBills: number;
  releasedLeases: number;
  newFindings: number;
  /** Unresolved findings of this and earlier rounds. */
  openFindings: number;
  /** Recordings deleted because their retention has passed. */
  deletedRecordings: number;
}

/** Returns the id of the workflow that sends a call's webhook if the call's own workflow did not. */
export function notifyWorkflowId(callId: string): string {
  return `notify-${callId}`;
}
