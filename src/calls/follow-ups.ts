import { CALL_ID_PATTERN } from '../kernel/ids.js';

/**
 * Workflows that act on a call after its end. Each has a fixed workflow id, so that one runs at a time. Started again after its
 * end, it does what the database does not show as done, such as after a restore.
 */
export const ERASE_WORKFLOW_TYPE = 'EraseWorkflow';
export const REDELIVER_WORKFLOW_TYPE = 'RedeliverWorkflow';

export interface EraseInput {
  callId: string;
}

export interface RedeliverInput {
  callId: string;
  /** Number of the redelivery of the call's completion event, from 1. */
  redelivery: number;
}

export function eraseWorkflowId(callId: string): string {
  return `erase-${callId}`;
}

export function redeliverWorkflowId({ callId, redelivery }: RedeliverInput): string {
  return `redeliver-${callId}-${redelivery}`;
}

/** Returns the call of a workflow: of the call itself, or of one that acts on it later. */
export function callIdOfWorkflow(workflowId: string): string | undefined {
  const [, callId = workflowId] = /^(?:erase|redeliver)-(call_[^-]+)/.exec(workflowId) ?? [];
  return CALL_ID_PATTERN.test(callId) ? callId : undefined;
}
