import type { Client } from '@temporalio/client';
import { eraseWorkflowId, redeliverWorkflowId } from '../follow-ups.js';
import { notifyWorkflowId } from '../reconciliation/round.js';
import { readRunState } from '../runs.js';

export type ClosedWorkflows = ReturnType<typeof createClosedWorkflows>;

/** Deletes the histories of closed workflows from Temporal. A running workflow is never deleted. */
export function createClosedWorkflows(client: Client) {
  const { namespace } = client.options;

  async function remove(workflowId: string): Promise<'deleted' | 'running' | 'gone'> {
    const state = await readRunState(client, workflowId);
    if (state !== 'closed') return state;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
    return 'deleted';
  }

  return {
    /**
     * Deletes the workflows of an ended call: its own, its erasure and its webhooks.
     * @param call.redeliveries number of redeliveries requested
     */
    async removeOf(call: { callId: string; redeliveries: number }): Promise<{ deleted: number; running: number }> {
      const { callId, redeliveries } = call;
      const ids = [
        callId,
        eraseWorkflowId(callId),
        notifyWorkflowId(callId),
        ...Array.from({ length: redeliveries }, (_, n) => redeliverWorkflowId({ callId, redelivery: n + 1 })),
      ];
      const results: Awaited<ReturnType<typeof remove>>[] = [];
      for (const id of ids) results.push(await remove(id));
      const count = (result: (typeof results)[number]) => results.filter((one) => one === result).length;
      return { deleted: count('deleted'), running: count('running') };
    },
  };
}
