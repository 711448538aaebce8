import { eraseWorkflowId, redeliverWorkflowId } from '../../../src/calls/follow-ups.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import { WITHHELD_SUMMARY, type StorageMode } from '../../../src/kernel/conversation/storage.js';
import { sidOf } from '../../support/sids.js';
import { placeCall, startHarness, startReceiver, type Harness, type TestCall } from './harness.js';
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

describe('a redelivery whose number was used before a restore', () => {
  it('is sent, and a repeat of it sends nothing', async () => {
    const { callId, receiver } = await completedCall([200, 200]);
    const redelivery = await createWebhookDeliveries(harness.database).beginRedelivery(callId, 0);
    const redeliver = async () => {
      await harness.gateway.redeliver({ callId, redelivery });
      await runOf(redeliverWorkflowId({ callId, redelivery })).result();
    };
    await redeliver();
    await redeliver();
    expect(receiver.bodies).toHaveLength(2);
    await harness.database.webhookAttempts.deleteMany({ callId, redelivery });
    await redeliver();
    expect(receiver.bodies).toHaveLength(3);
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

  it('is joined while it runs, and repeated after its end, such as when a restore has brought the data back', async () => {
    const { callId, ...call } = await completedCall();
    const { calls } = harness.database;
    const isErased = async () => (await calls.exists({ _id: callId, erasedAt: { $exists: true } })) !== null;
    const before = await calls.findById(callId).lean<CallDocument>();
    const erase = async () => {
      await harness.gateway.erase(callId);
      return (await runOf(eraseWorkflowId(callId)).describe()).runId;
    };
    const first = await erase();
    await until(isErased);
    expect(await erase()).toBe(first);
    await runOf(eraseWorkflowId(callId)).result();

    await calls.collection.replaceOne({ _id: callId as never }, { ...before });
    expect(await call.stored()).toMatchObject({ toPhoneNumber: before?.toPhoneNumber });
    expect(await erase()).not.toBe(first);
    await until(isErased);
    expect(await call.stored()).toMatchObject({ toPhoneNumber: '' });
    await runOf(eraseWorkflowId(callId)).result();
  });
});

describe('the words of a call whose agent keeps none', () => {
  const CANARY = 'Hello canary.';
  const turns = [{ speaker: 'agent' as const, text: CANARY, startMs: 0, endMs: 900 }];

  /** The collections in which a document of the call contains the canary. */
  async function collectionsWithWords(callId: string): Promise<string[]> {
    const { connection } = harness.database;
    const names = ((await connection.db?.collections()) ?? []).map(({ collectionName }) => collectionName);
    const found: string[] = [];
    for (const name of names) {
      const documents = await connection.collection(name).find({}).toArray();
      const own = documents.map((document) => JSON.stringify(document)).filter((text) => text.includes(callId));
      // The instruction of the agent contains `canary sentence`.
      if (own.some((text) => /canary(?! sentence)/i.test(text))) found.push(name);
    }
    return found;
  }

  /** Runs a call of 7 s. */
  async function talkedCall(storage: StorageMode, talk: (call: TestCall) => Promise<unknown>) {
    const receiver = await startReceiver([200]);
    closing.push(() => receiver.close());
    const { call } = await placeCall(harness, { webhookUrl: receiver.url, agent: { storage } });
    await call.answer();
    await call.startStream();
    await talk(call);
    await call.end('completed', { durationSeconds: 7 });
    await call.result();
    return { ...call, receiver };
  }

  it('are removed from a call whose media process died, and again after ten minutes', async () => {
    const toolCalls = [{ name: 'find', atMs: 0, durationMs: 1, ok: true, arguments: `"${CANARY}"`, result: CANARY }];
    const progress = { agentAudioPlayed: true, turns, toolCalls, outputParameters: '{"name":"Ada"}' };
    const key = (callId: string) => ({ callId, streamId: sidOf('MZ', 1) });
    const { callId, receiver, ...call } = await talkedCall('no_transcript', async ({ callId: id }) => {
      expect(await harness.results.checkpoint(key(id), progress)).toBe(true);
      expect(await collectionsWithWords(id)).toEqual(['conversation_results']);
    });
    expect(await collectionsWithWords(callId)).toEqual([]);
    expect(await call.stored()).toMatchObject({ status: 'COMPLETED', outputParameters: '{"name":"Ada"}' });
    expect(receiver.bodies.join()).not.toContain(CANARY);
    // A process that could not write for a while does not bring them back.
    expect(await harness.results.checkpoint(key(callId), progress)).toBe(false);

    const checks = harness.database.reconciliationChecks;
    const check = await checks.findById(`words:${callId}`).lean();
    expect((check?.dueAt.getTime() ?? 0) - (check?.addedAt.getTime() ?? 0)).toBe(10 * 60_000);
    await harness.database.conversationResults.collection.updateOne({ _id: callId as never }, { $set: { turns } });
    await checks.updateOne({ _id: `words:${callId}` }, { $set: { dueAt: new Date() } });
    await reconcileNow(harness.config, 600_000);
    expect(await collectionsWithWords(callId)).toEqual([]);
    expect(await checks.exists({ _id: `words:${callId}` })).toBeNull();
  });

  it('are removed if a media process of an earlier release has stored them, with the summary', async () => {
    const call = await talkedCall('outcome_only', (talking) => talking.endStream());
    expect(await collectionsWithWords(call.callId)).toEqual([]);
    expect(await harness.results.find(call.callId)).not.toHaveProperty('summary');
    const { summary, outputParameters } = (await call.stored()) as CallDocument;
    expect({ summary, outputParameters }).toEqual({ summary: WITHHELD_SUMMARY, outputParameters: '{"name":null}' });
    expect(call.receiver.bodies).toEqual([expect.stringContaining(WITHHELD_SUMMARY)]);
  });
});
