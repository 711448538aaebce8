/** Workflows that act on a call after its end. Each has a fixed workflow id, so starting one twice runs it once. */
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
