import { eraseWorkflowId, redeliverWorkflowId } from '../../../src/calls/follow-ups.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import { placeCall, startHarness, startReceiver, type Harness } from './harness.js';
import { until } from './reconcile-harness.js';
import { recordRun } from './recorded-histories.js';

let harness: Harness;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await harness.stop();
});

/** Runs a call of 7 s whose webhook is delivered. The receiver responds to redeliveries with `statuses`. */
async function completedCall(statuses: number[] = []) {
  const receiver = await startReceiver([200, ...statuses]);
  closing.push(() => receiver.close());
  const { call } = await placeCall(harness, { webhookUrl: receiver.url });
  await call.answer();
  await call.startStream();
  await call.endStream();
  await call.end('completed', { durationSeconds: 7 });
  await call.result();
  return { ...call, receiver };
}

const runOf = (workflowId: string) => harness.environment.client.workflow.getHandle(workflowId);

describe('a redelivery', () => {
  it('sends the same bytes again, and retries after an error status', async () => {
    const { callId, receiver } = await completedCall([503]);
    const redelivery = await createWebhookDeliveries(harness.database).beginRedelivery(callId, 0);
    await harness.gateway.redeliver({ callId, redelivery });
    const workflowId = redeliverWorkflowId({ callId, redelivery });
    await runOf(workflowId).result();
    await recordRun(harness, workflowId, 'redeliver-second-attempt');
    expect(receiver.bodies).toHaveLength(3);
    expect(new Set(receiver.bodies).size).toBe(1);
    const attempts = await createWebhookAttempts(harness.database).steps(callId);
    expect(attempts.map(({ redelivery: of = 0, outcome }) => `${of} ${String(outcome)}`)).toEqual([
      '0 delivered',
      '1 failed',
      '1 delivered',
    ]);
  });
});

describe('an erasure', () => {
  it('removes stored data at once, and data that arrives meanwhile after five minutes', async () => {
    const call = await completedCall();
    const { callId } = call;
    await harness.gateway.erase(callId);
    await until(
      async () => (await harness.database.calls.exists({ _id: callId, erasedAt: { $exists: true } })) !== null,
    );
    // A result that a media process sends after the erasure is rejected.
    await call.endStream();
    expect(await harness.results.find(callId)).toBeNull();
    // A process that checked the call just before the erasure can still write its result.
    const { collection } = harness.database.conversationResults;
    await collection.insertOne({ _id: callId as never, summary: 'They spoke.' });
    const workflowId = eraseWorkflowId(callId);
    await runOf(workflowId).result();
    await recordRun(harness, workflowId, 'erased');
    expect(await harness.results.find(callId)).toBeNull();
    expect(await call.stored()).toMatchObject({ status: 'COMPLETED', durationSeconds: 7, toPhoneNumber: '' });
  });
});
