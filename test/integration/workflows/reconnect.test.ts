import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import { placeCall, SID, startHarness, startReceiver, type Harness } from './harness.js';
import { recordHistory } from './recorded-histories.js';
import { sidOf } from '../../support/sids.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
afterEach(() =>
  recordHistory(harness, {
    'continues, is billed once and sends one webhook': 'reconnected',
    'continues as often as media servers stop, apart from lost streams': 'planned-resumes',
  }),
);

async function eventsOf(callId: string): Promise<string[]> {
  const { events } = await harness.environment.client.workflow.getHandle(callId).fetchHistory();
  return (events ?? []).map((event) => Object.keys(event).find((key) => key.endsWith('Attributes')) ?? '');
}

describe('a call that lost its stream', () => {
  it('continues, is billed once and sends one webhook', async () => {
    const receiver = await startReceiver();
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    await call.startStream();
    await call.sleep(5_000);
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    await call.sleep(5_000);
    await call.endStream('agent_hangup');
    await call.end('completed', { durationSeconds: 10 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 10 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 25_000 });
    expect(receiver.bodies).toHaveLength(1);
    await receiver.close();
  });

  it('continues as often as media servers stop, apart from lost streams', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    for (let after = 0; after < 5; after++) {
      expect(await call.reconnect(after, { planned: true })).toEqual({ decision: 'stream', resumption: after + 1 });
    }
    expect(await call.reconnect(5)).toEqual({ decision: 'stream', resumption: 6 });
    await call.endStream('agent_hangup');
    await call.end('completed', { durationSeconds: 9 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 9 });
  });

  it('gets the same response to a repeated request, and no stream after the third', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    expect(await call.reconnect(1)).toEqual({ decision: 'stream', resumption: 2 });
    expect(await call.reconnect(2)).toEqual({ decision: 'stream', resumption: 3 });
    expect(await call.reconnect(3)).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(await call.reconnect(3)).toEqual({ decision: 'hang_up', why: 'limit' });
    await call.end('completed', { durationSeconds: 9 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'media_failed', billedSeconds: 9 });
    expect(
      (await eventsOf(call.callId)).filter((key) => key.startsWith('workflowExecutionUpdateCompleted')),
    ).toHaveLength(
      // One of the five updates is the reservation.
      5,
    );
    expect(await call.reconnect(4)).toEqual({ decision: 'hang_up', why: 'over' });
  });

  it('is free if the agent was not heard in any stream', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    for (const after of [0, 1, 2, 3]) await call.reconnect(after, { agentAudioPlayed: false });
    await call.end('completed', { durationSeconds: 9 });
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'media_failed', billedSeconds: 0 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });

  it('is hung up if its end was requested, or if another carrier call requests the stream', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    const otherCarrierCall = { carrierSid: `CA${'9'.repeat(32)}`, at: await call.now(), agentAudioPlayed: true };
    const over = { decision: 'hang_up', why: 'over' };
    expect(await harness.gateway.reconnect(call.callId, otherCarrierCall, 'stranger', Date.now() + 15_000)).toEqual(
      over,
    );
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      expect(await call.reconnect(0)).toEqual(over);
      await call.endStream();
      await call.end('completed', { durationSeconds: 4 });
    };
    await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'api_hangup', billedSeconds: 4 });
  });

  it('is hung up if it is unknown', async () => {
    const request = { carrierSid: SID, at: 0, agentAudioPlayed: false };
    const answer = await harness.gateway.reconnect(
      'call_00000000000000000000000000',
      request,
      'x',
      Date.now() + 15_000,
    );
    expect(answer).toEqual({ decision: 'hang_up', why: 'over' });
  });

  it('counts as streamed for an inbound caller by the stored start, even without a start signal', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    expect(await call.reconnect(0, { startedAt: await call.now() })).toEqual({ decision: 'stream', resumption: 1 });
    await call.sleep(6_000);
    await call.endStream();
    await call.end('completed', { durationSeconds: 6 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', billedSeconds: 6 });
  });
});

describe('a call whose last stream did not end properly', () => {
  /** Stores the checkpoint that a killed media process leaves. */
  async function storeCheckpoint(callId: string, at: number, agentAudioPlayed: boolean): Promise<void> {
    const key = { callId, streamId: sidOf('MZ', 1), carrierSid: SID, engine: 'test', startedAt: new Date(at) };
    await harness.results.begin(key);
    const turns = [{ speaker: 'agent' as const, text: 'Hello canary.', startMs: 0, endMs: 900 }];
    await harness.results.checkpoint(key, {
      agentAudioPlayed,
      turns: agentAudioPlayed ? turns : [],
      outputParameters: '{"name":"Ada"}',
      latencies: [{ atMs: 10, totalMs: 700 }],
      usage: { units: { input_tokens: 7 }, costMicros: 12 },
    });
  }

  it('is billed by the carrier’s duration, with the checkpointed result, if the agent was heard', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await storeCheckpoint(call.callId, await call.now(), true);
    const recordings = createRecordings(harness.database);
    // This recording is never closed, as when its process was killed.
    recordings
      .open({ callId: call.callId, stream: 0, offsetMs: 0 }, Promise.resolve(true))
      .write(Buffer.alloc(100_000));
    await call.sleep(5_000);
    await call.end('completed', { durationSeconds: 5 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 5 });
    expect(await call.stored()).toMatchObject({
      transcription: 'agent: Hello canary.',
      outputParameters: '{"name":"Ada"}',
      latencies: [{ atMs: 10, totalMs: 700 }],
      usage: { units: { input_tokens: 7 }, costMicros: 12 },
      hasRecording: true,
    });
    // Three chunks of 32,000 bytes were complete. Each byte becomes a sample of two bytes in the file, after a header
    // of 44 bytes.
    expect((await recordings.read(call.callId))?.bytes).toBe(44 + 192_000);
  });

  it('is FAILED / media_failed and free if the agent was not heard', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await storeCheckpoint(call.callId, await call.now(), false);
    await call.sleep(5_000);
    await call.end('completed', { durationSeconds: 5 });
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'media_failed', billedSeconds: 0 });
  });
});

describe('a recording that is stored later than the end of the call', () => {
  it('is still in the webhook, because the call waits for the signal that it is stored', async () => {
    const receiver = await startReceiver();
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    await call.startStream();
    const at = await call.now();
    const ending = {
      callId: call.callId,
      streamId: sidOf('MZ', 1),
      carrierSid: SID,
      engine: 'test',
      startedAt: new Date(at),
      endedAt: new Date(at),
      endReason: 'carrier_stop' as const,
      agentAudioPlayed: true,
      turns: [],
      summary: 'They spoke.',
      outputParameters: '{}',
    };
    await harness.results.finish(ending);
    const ended = { kind: 'ended' as const, at, carrierSid: SID, agentAudioPlayed: true, resultStored: false as const };
    await harness.gateway.signalMedia(call.callId, ended, `${call.callId}:ended`);
    await call.end('completed', { durationSeconds: 3 });
    await call.sleep(6_000);
    expect(receiver.bodies).toHaveLength(0);
    const before = await call.now();
    await harness.results.finish({ ...ending, hasRecording: true });
    const stored = { kind: 'stored' as const, at, carrierSid: SID };
    await harness.gateway.signalMedia(call.callId, stored, `${call.callId}:stored`);
    await call.result();
    expect((await call.closedAt()) - before).toBeLessThan(10_000);
    expect(JSON.parse(receiver.bodies[0] ?? '{}')).toMatchObject({
      recording_url: `${harness.config.publicBaseUrl}/calls/${call.callId}/recording`,
    });
    await receiver.close();
  });
});
