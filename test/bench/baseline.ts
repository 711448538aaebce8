import { randomUUID } from 'node:crypto';
import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import type { Database } from '../../src/database.js';

export type BaselineActivities = ReturnType<typeof createBaselineActivities>;

/**
 * Writes documents like those that the service writes for a new call, with the bare driver and without the service's
 * checks.
 */
function createBaselineActivities(database: Database) {
  const db = database.connection.getClient().db(database.connection.name);
  const documents = (name: string) => db.collection<{ _id: string }>(`baseline_${name}`);
  return {
    async writeLikeACall(callId: string): Promise<void> {
      const filler = { accountId: 'acct', text: 'x'.repeat(300), at: new Date() };
      await documents('leases').updateOne({ _id: 'acct' }, { $inc: { count: 1 } }, { upsert: true });
      await documents('accounts').updateOne({ _id: 'acct' }, { $inc: { held: 150_000 } }, { upsert: true });
      await documents('entries').insertOne({ _id: callId, ...filler });
      await documents('calls').insertOne({ _id: callId, ...filler });
    },
  };
}

/** Starts a client and a worker for the baseline, separate from those of the service. */
export async function startBaseline(deps: { address: string; database: Database }) {
  const { address, database } = deps;
  const taskQueue = `baseline-${randomUUID()}`;
  const nativeConnection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection: nativeConnection,
    taskQueue,
    activities: createBaselineActivities(database),
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: require.resolve('./baseline-workflow.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
  });
  const running = worker.run();
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const db = database.connection.getClient().db(database.connection.name);
  return {
    /** Performs a bare update-with-start for one call. Resolves at the moment when a client would get its response. */
    async start(): Promise<void> {
      const workflowId = `baseline_${randomUUID()}`;
      await db
        .collection<{ _id: string; text: string }>('baseline_requests')
        .insertOne({ _id: workflowId, text: 'x'.repeat(500) });
      await client.workflow.executeUpdateWithStart('reserved', {
        startWorkflowOperation: new WithStartWorkflowOperation('BaselineWorkflow', {
          workflowId,
          taskQueue,
          args: [workflowId],
          workflowIdConflictPolicy: 'USE_EXISTING',
        }),
      });
    },
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await connection.close();
      await nativeConnection.close();
    },
  };
}
