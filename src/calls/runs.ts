import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** `gone`: Temporal has no such run, because it never started, its retention has passed, or Temporal lost its data. */
export type RunState = 'running' | 'closed' | 'gone';

/** Reads the state of a call's workflow. @throws when Temporal is unavailable */
export async function readRunState(client: Client, callId: string): Promise<RunState> {
  return (await readRun(client, callId)).state;
}

/** Reads the state of a workflow, and the id of its run if there is one. */
export async function readRun(
  client: Client,
  workflowId: string,
): Promise<{ state: 'gone' } | { state: Exclude<RunState, 'gone'>; runId: string }> {
  try {
    const { status, runId } = await client.workflow.getHandle(workflowId).describe();
    return { state: status.name === 'RUNNING' || status.name === 'PAUSED' ? 'running' : 'closed', runId };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'gone' };
    throw error;
  }
}
