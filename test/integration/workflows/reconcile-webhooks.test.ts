import { notifyWorkflowId } from '../../../src/calls/reconciliation/round.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { startReceiver } from './harness.js';
import { startReconciling, until, type Reconciling } from './reconcile-harness.js';
import { recordRun } from './recorded-histories.js';
import { sidOf } from '../../support/sids.js';

let stack: Reconciling;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  stack = await startReconciling();
}, 120_000);
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await stack.stop();
});

/** Runs a call of 7 s and terminates its workflow after the receiver has responded with some of `statuses`. */
async function terminatedInDelivery(statuses: number[], attempts: number) {
  const receiver = await startReceiver(statuses);
  closing.push(() => receiver.close());
  const call = await stack.ringingCall({ webhookUrl: receiver.url });
  await call.reportAnswer();
  await call.hangUp(7);
  const rows = () => createWebhookAttempts(stack.database).steps(call.callId);
  const outcomes = async () => (await rows()).map(({ number, outcome }) => `${number} ${String(outcome)}`);
  await until(async () => (await rows()).filter(({ outcome }) => outcome === 'failed').length === attempts);
  const before = await call.stored();
  await call.terminate();
  return { ...call, receiver, rows, outcomes, before };
}

const notifyRun = (callId: string) => stack.environment.client.workflow.getHandle(notifyWorkflowId(callId));
const isOver = async (callId: string) =>
  (await stack.database.reconciliationChecks.findById(`webhook:${callId}`)) === null;

describe('reconciliation of a call that was terminated during the delivery of its webhook', () => {
  it('makes the remaining attempts with the same bytes until one is accepted', async () => {
    const call = await terminatedInDelivery([500, 503], 2);
    const { callId, receiver } = call;
    expect(await stack.round()).toMatchObject({ endedCalls: 0, newFindings: 0 });
    await recordRun(stack, stack.roundId, 'reconcile-unsent-webhook');
    await notifyRun(callId).result();
    await recordRun(stack, notifyWorkflowId(callId), 'notify-third-attempt');
    expect(await call.outcomes()).toEqual(['1 failed', '2 failed', '3 delivered']);
    expect(receiver.bodies).toHaveLength(3);
    expect(new Set(receiver.bodies).size).toBe(1);
    // The wait of five seconds was kept: the sender writes an attempt's row after the wait and before the POST.
    const [, second, third] = await call.rows();
    expect(Number(third?.startedAt) - Number(second?.finishedAt)).toBeGreaterThanOrEqual(5_000);

    await stack.round();
    await recordRun(stack, stack.roundId, 'reconcile-nothing-to-do');
    expect(await isOver(callId)).toBe(true);
    expect(receiver.bodies).toHaveLength(3);
    // The call and its bill are unchanged.
    expect(await call.stored()).toEqual(call.before);
    expect(await stack.openFindings(call.money)).toEqual([]);
  }, 60_000);

  it('never makes a fifth attempt', async () => {
    const call = await terminatedInDelivery([500, 500, 500, 500, 500], 1);
    const { callId, receiver } = call;
    // The second and third attempts were made long ago, so the fourth is due.
    const attempts = createWebhookAttempts(stack.database);
    const past = new Date(Date.now() - 60_000);
    for (const number of [2, 3]) {
      await attempts.begin(callId, number, past);
      await attempts.finish(callId, number, { outcome: 'failed', httpStatus: 500 }, { finished: past });
    }
    const posted = receiver.bodies.length;
    await stack.round();
    await notifyRun(callId).result();
    expect(await call.outcomes()).toEqual(['1 failed', '2 failed', '3 failed', '4 failed']);
    expect(receiver.bodies).toHaveLength(posted + 1);
    for (let i = 0; i < 2; i++) await stack.round();
    expect(await isOver(callId)).toBe(true);
    expect(receiver.bodies).toHaveLength(posted + 1);
  }, 60_000);

  it('resumes again if the resuming workflow was terminated, too', async () => {
    // The sender waits 30 s before the fourth attempt. In this time the test terminates the waiting workflow.
    const call = await terminatedInDelivery([500, 500, 500], 3);
    await stack.round();
    await notifyRun(call.callId).terminate('a test');
    await stack.round();
    await notifyRun(call.callId).result();
    expect(await call.outcomes()).toEqual(['1 failed', '2 failed', '3 failed', '4 delivered']);
  }, 120_000);

  it('sends a result that was stored after the termination', async () => {
    const receiver = await startReceiver();
    closing.push(() => receiver.close());
    const call = await stack.ringingCall({ webhookUrl: receiver.url });
    const { callId, sid } = call;
    await call.reportAnswer();
    const at = Date.now();
    // No process reported the end of the stream, so after the settlement the workflow still waits for the result.
    await stack.gateway.signalMedia(callId, { kind: 'started', at, carrierSid: sid }, `${callId}:started`);
    await call.hangUp(7);
    await until(async () => (await stack.database.calls.exists({ _id: callId, status: 'COMPLETED' })) !== null);
    await call.terminate();
    await stack.results.finish({
      callId,
      streamId: sidOf('MZ', 1),
      carrierSid: sid,
      engine: 'test',
      startedAt: new Date(at),
      endedAt: new Date(at),
      endReason: 'carrier_stop',
      agentAudioPlayed: true,
      turns: [{ speaker: 'agent', text: 'Hello.', startMs: 0, endMs: 900 }],
      summary: 'They spoke.',
      outputParameters: '{}',
      hasRecording: false,
    });
    await stack.round();
    await until(async () => receiver.bodies.length === 1);
    const expectedPayload = {
      call_id: callId,
      duration_seconds: 7,
      summary: 'They spoke.',
      transcription: 'agent: Hello.',
    };
    expect(JSON.parse(receiver.bodies[0] ?? '')).toMatchObject(expectedPayload);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 17_500 });
  }, 60_000);
});

describe('reconciliation of a webhook that its own workflow delivers', () => {
  it('leaves it to that workflow, however slow the receiver is', async () => {
    const receiver = await startReceiver([500, 500]);
    closing.push(() => receiver.close());
    const call = await stack.ringingCall({ webhookUrl: receiver.url });
    await call.reportAnswer();
    await call.hangUp(7);
    await until(async () => receiver.bodies.length === 2);
    await stack.round();
    expect(await isOver(call.callId)).toBe(false);
    await call.result();
    await stack.round();
    expect(await isOver(call.callId)).toBe(true);
    expect(receiver.bodies).toHaveLength(3);
    await expect(notifyRun(call.callId).describe()).rejects.toThrow(/not found/i);
  }, 60_000);
});
