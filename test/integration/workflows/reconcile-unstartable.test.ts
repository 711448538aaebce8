import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { notifyWorkflowId } from '../../../src/calls/reconciliation/round.js';
import { newCallId } from '../../support/store/test-database.js';
import { startReconciling, type Reconciling } from './reconcile-harness.js';
import { UNSTARTABLE } from './unstartable.js';

let stack: Reconciling;
beforeAll(async () => {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: path.resolve(__dirname, '../../../dist/workflows/index.js'),
    workflowInterceptorModules: [path.resolve(__dirname, 'unstartable.ts')],
    logger: new DefaultLogger('ERROR'),
  });
  stack = await startReconciling({ workflowBundle });
}, 180_000);
afterAll(() => stack.stop());

it('a webhook whose delivery cannot start blocks neither other webhooks nor the steps after it', async () => {
  const { database, environment } = stack;
  const { accountId, money } = await stack.newAccount();
  const callIds = [UNSTARTABLE, newCallId(), newCallId()];
  const at = new Date(0);
  const ofAccount = { accountId, mode: 'live' };
  for (const _id of callIds) {
    const request = { ...ofAccount, _id, webhookUrl: 'http://127.0.0.1:9/', createdAt: at };
    const call = { ...ofAccount, _id, status: 'FAILED', summary: '', sequence: 1, updatedAt: at };
    const check = { _id: `webhook:${_id}`, kind: 'webhook', callId: _id, ledgerAccountId: money };
    await database.callRequests.collection.insertOne(request as never);
    await database.calls.collection.insertOne(call as never);
    await database.reconciliationChecks.collection.insertOne({
      ...check,
      attempts: 0,
      dueAt: at,
      addedAt: at,
    } as never);
  }
  const failed = await stack.round().catch(({ cause }: Error) => String((cause as Error | undefined)?.message));
  const { workflow } = environment.client;
  const { events = [] } = await workflow.getHandle(stack.roundId).fetchHistory();
  const activities = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(activities).toContain('expireSignUps');
  expect(failed).toBe('These steps failed: webhooks.');
  for (const callId of callIds.slice(1)) {
    const run = workflow.getHandle(notifyWorkflowId(callId));
    expect((await run.describe()).type).toBe('NotifyWorkflow');
    await run.terminate('a test');
  }
}, 120_000);
