import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** `gone`: Temporal has no such run, because it never started, its retention has passed, or Temporal lost its data. */
export type RunState = 'running' | 'closed' | 'gone';

/** Reads the state of a call's workflow. @throws when Temporal is unavailable */
export async function readRunState(client: Client, callId: string): Promise<RunState> {
  try {
    const { status } = await client.workflow.getHandle(callId).describe();
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'running' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw error;
  }
}
