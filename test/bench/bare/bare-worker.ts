import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { Pool } from 'undici';
import { openConnection } from '../../../src/platform/mongo/connection.js';
import { bareSettings, type BareSettings } from './settings.js';

export type BareActivities = ReturnType<typeof createBareActivities>;

/** The least that the steps must write, with the bare driver and one command for each write: six of the seven commands. */
function createBareActivities({ carrierUrl, inboxUrl }: BareSettings, db: BareDatabase) {
  const documents = (name: string) => db.collection<BareDocument>(name);
  const pools = { carrier: new Pool(carrierUrl), inbox: new Pool(new URL(inboxUrl).origin) };
  const post = async (pool: Pool, path: string, body: object) => {
    const response = await pool.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.body.dump();
  };
  return {
    async reserve(callId: string): Promise<void> {
      await documents('accounts').updateOne({ _id: 'acct' }, { $inc: { heldMicros: 150_000 } });
      await documents('calls').insertOne({ _id: callId, ...FILLER, status: 'RINGING' });
    },
    dial: (callId: string) => post(pools.carrier, '/', { call_id: callId }),
    async settle(callId: string): Promise<void> {
      await documents('accounts').updateOne({ _id: 'acct' }, { $inc: { heldMicros: -150_000 } });
      await documents('calls').updateOne({ _id: callId }, { $set: { status: 'FAILED', endReason: 'busy' } });
    },
    async deliver(callId: string): Promise<void> {
      await documents('attempts').insertOne({ _id: callId, ...FILLER });
      await post(pools.inbox, '/inbox', { call_id: callId, ...FILLER });
      await documents('attempts').updateOne({ _id: callId }, { $set: { outcome: 'delivered' } });
    },
  };
}

interface BareDocument {
  _id: string;
  heldMicros?: number;
  accountId?: string;
  text?: string;
  status?: string;
  endReason?: string;
  outcome?: string;
}

const FILLER = { accountId: 'acct', text: 'x'.repeat(300) };

type BareDatabase = NonNullable<Awaited<ReturnType<typeof openConnection>>['connection']['db']>;

async function main(): Promise<void> {
  const settings = bareSettings();
  const { connection: database } = await openConnection(settings.mongodbUri);
  const db = database.db;
  if (db === undefined) throw new Error('no database');
  Runtime.install({ logger: new DefaultLogger('WARN'), shutdownSignals: [] });
  const connection = await NativeConnection.connect({ address: settings.temporalAddress });
  const worker = await Worker.create({
    connection,
    taskQueue: settings.taskQueue,
    activities: createBareActivities(settings, db),
    maxCachedWorkflows: settings.maxCachedWorkflows,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: require.resolve('./bare-workflow.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
  });
  process.once('SIGTERM', () => worker.shutdown());
  process.once('disconnect', () => process.exit());
  const running = worker.run();
  process.send?.('ready');
  await running;
  process.exit();
}

if (require.main === module) void main();
