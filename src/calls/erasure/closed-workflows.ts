import { isGrpcServiceError, type Client } from '@temporalio/client';
import { eraseWorkflowId, redeliverWorkflowId } from '../follow-ups.js';
import { notifyWorkflowId } from '../reconciliation/round.js';
import { readRun } from '../runs.js';

/** The gRPC status of a workflow that does not exist. */
const NOT_FOUND = 5;

interface Run {
  workflowId: string;
  runId: string;
}

interface EndedCall {
  callId: string;
  /** Number of redeliveries requested. */
  redeliveries: number;
}

export type ClosedWorkflows = ReturnType<typeof createClosedWorkflows>;

/** Deletes the histories of closed workflows from Temporal. A running workflow is never deleted. */
export function createClosedWorkflows(client: Client) {
  const { namespace } = client.options;
  /** Temporal deletes some time later, and shows the run until then. */
  const deletedRuns = new Set<string>();

  /** @returns whether the run was there */
  async function remove({ workflowId, runId }: Run): Promise<boolean> {
    if (deletedRuns.has(runId)) return false;
    try {
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
    } catch (error) {
      // It was deleted since it was read, such as by an erasure before this one.
      if (isGrpcServiceError(error) && error.code === NOT_FOUND) return false;
      throw error;
    }
    deletedRuns.add(runId);
    return true;
  }

  /** Lists the closed runs of workflows: of erasures that were repeated, there are several. Temporal lists a run late. */
  async function listClosed(workflowIds: readonly string[]): Promise<Run[]> {
    const ofIds = workflowIds.map((id) => `WorkflowId = '${id}'`).join(' OR ');
    const runs: Run[] = [];
    for await (const { workflowId, runId, status } of client.workflow.list({ query: ofIds })) {
      if (status.name !== 'RUNNING' && status.name !== 'PAUSED') runs.push({ workflowId, runId });
    }
    return runs;
  }

  return {
    /** Counts the workflows of an ended call that Temporal still has. */
    async countOf(call: EndedCall): Promise<number> {
      let count = 0;
      for (const workflowId of workflowIdsOf(call)) {
        const run = await readRun(client, workflowId);
        if (run.state !== 'gone' && !deletedRuns.has(run.runId)) count += 1;
      }
      return count;
    },

    /** Deletes the workflows of an ended call: its own, its erasure and its webhooks. */
    async removeOf(call: EndedCall): Promise<{ deleted: number; running: number }> {
      const ids = workflowIdsOf(call);
      const done = { deleted: 0, running: 0 };
      const closed = await listClosed(ids);
      for (const workflowId of ids) {
        const run = await readRun(client, workflowId);
        if (run.state === 'running') done.running += 1;
        if (run.state === 'closed') closed.push({ workflowId, runId: run.runId });
      }
      for (const run of closed) done.deleted += Number(await remove(run));
      return done;
    },
  };
}

function workflowIdsOf({ callId, redeliveries }: EndedCall): string[] {
  return [
    callId,
    eraseWorkflowId(callId),
    notifyWorkflowId(callId),
    ...Array.from({ length: redeliveries }, (_, n) => redeliverWorkflowId({ callId, redelivery: n + 1 })),
  ];
}
