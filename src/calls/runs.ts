import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** `gone`: Temporal has no such run, because it never started, was removed after its retention, or Temporal was lost. */
export type RunState = 'running' | 'closed' | 'gone';

/** Whether a call's workflow still looks after it. @throws when Temporal does not answer */
export async function runStateOf(client: Client, callId: string): Promise<RunState> {
  try {
    const { status } = await client.workflow.getHandle(callId).describe();
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'running' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw error;
  }
}
