import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import { openConnection } from '../../../src/platform/mongo/connection.js';
import { bareSettings } from './settings.js';

/** A request from the benchmark: to start a call, or to report its end. */
export interface BareRequest {
  id: number;
  act: 'start' | 'over';
  callId: string;
}

/** The response: an error message, or nothing. */
export interface BareResponse {
  id: number;
  error?: string;
}

/** The least that an API must do: it stores the request and starts the workflow, and passes on the carrier's report. */
async function main(): Promise<void> {
  const { mongodbUri, temporalAddress, taskQueue, staysOpen = false } = bareSettings();
  const workflowType = staysOpen ? 'BareOpenCallWorkflow' : 'BareCallWorkflow';
  const { connection: database } = await openConnection(mongodbUri);
  const requests = database.collection<{ _id: string; text: string }>('requests');
  const connection = await Connection.connect({ address: temporalAddress });
  const client = new Client({ connection });

  async function act({ act: what, callId }: BareRequest): Promise<void> {
    if (what === 'over') return client.workflow.getHandle(callId).signal('over');
    await requests.insertOne({ _id: callId, text: 'x'.repeat(500) });
    await client.workflow.executeUpdateWithStart('reserved', {
      startWorkflowOperation: new WithStartWorkflowOperation(workflowType, {
        workflowId: callId,
        taskQueue,
        args: [callId],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  }

  process.on('message', (request: BareRequest) => {
    const { id } = request;
    act(request).then(
      () => process.send?.({ id } satisfies BareResponse),
      (error: unknown) => process.send?.({ id, error: String(error) } satisfies BareResponse),
    );
  });
  process.once('SIGTERM', () => process.exit());
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}

void main();
