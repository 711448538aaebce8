import { lastLease, placeCall, SID, startHarness, startReceiver, type Harness, type TestCall } from './harness.js';
import { recordHistory } from './recorded-histories.js';
import { sidOf } from '../../support/sids.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
beforeEach(() => {
  Object.assign(harness.carrier, { dials: 0, outcomes: [], record: undefined, placed: [], onHangUp: undefined });
  harness.carrier.hungUp.length = 0;
  harness.carrier.limits.length = 0;
});

/**
 * Calls whose histories are saved for the replay test, by the name of their test. RECORD_HISTORIES=1 saves them again.
 */
const RECORDED: Record<string, string> = {
  'that lasts 10 s is COMPLETED, is billed 10 s, and sends its webhook once': 'completed-10-seconds',
  'that lasts 4 hours ends at 14,400 s and is billed to the second': 'completed-4-hours',
  'with money for 100 s is hung up then and billed exactly that': 'balance-exhausted',
  'without callbacks is IN_PROGRESS by its stream and ends by the carrier’s record': 'no-callbacks',
  'without further callbacks is final within five minutes, with an estimate': 'carrier-lost',
  'is ended by our own ring timer without a callback': 'ring-timer',
  'is dialed again after a throttled attempt, which placed no call': 'throttled-dial',
  'is not dialed again after an ambiguous attempt; its binding is closed when no call is found': 'ambiguous-dial',
  'is CANCELLED / operator_cancel when an operator cancels it in the Temporal UI while it rings': 'operator-cancel',
  'is billed by the carrier’s duration from the start of its stream, and is limited at the carrier first': 'inbound',
  'for its balance holds nothing, dials nothing and has no document': 'refused',
  'because its reservation was too late is voided, gets a tombstone and is not dialed': 'expired',
  'because its reservation did not begin in time is given up by its record, and not dialed': 'decided-by-record',
};

afterEach(async () => {
  await recordHistory(harness, RECORDED);
  // Every call releases its concurrency slot once, however it ends.
  expect(await lastLease(harness)).toEqual({ taken: 0, released: true });
});

/** The carrier ends the call after the service has hung up. */
function endWhenHungUp(call: TestCall, durationSeconds: () => number): void {
  harness.carrier.onHangUp = async () => {
    harness.carrier.onHangUp = undefined;
    await call.endStream('carrier_stop');
    await call.end('completed', { durationSeconds: durationSeconds() });
  };
}

describe('an answered call', () => {
  it('that lasts 10 s is COMPLETED, is billed 10 s, and sends its webhook once', async () => {
    const receiver = await startReceiver();
    const { answer, call } = await placeCall(harness, { webhookUrl: receiver.url });
    expect(answer).toEqual({ outcome: 'granted' });
    expect(await call.stored()).toMatchObject({ status: 'RINGING' });
    await call.sleep(2_000);
    await call.answer();
    await call.startStream();
    await call.sleep(10_000);
    await call.endStream();
    await call.end('completed', { durationSeconds: 10 });
    expect(await call.result()).toEqual({
      reservation: { outcome: 'granted' },
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      billedSeconds: 10,
    });
    expect(await call.stored()).toMatchObject({
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      durationSeconds: 10,
      costMicros: 25_000,
      summary: 'They spoke.',
      transcription: 'agent: Hello canary.',
    });
    expect(await call.balance()).toEqual({
      availableMicros: 36_000 * 2_500 - 25_000,
      heldMicros: 0,
      creditedMicros: 36_000 * 2_500,
      billedMicros: 25_000,
    });
    expect(receiver.bodies).toHaveLength(1);
    expect(JSON.parse(receiver.bodies[0] ?? '')).toMatchObject({
      status: 'COMPLETED',
      duration_seconds: 10,
      cost: 0.025,
    });
    await receiver.close();
  });

  it('that lasts 10 minutes is held in three windows, limited at the carrier, and ended at its maximum duration', async () => {
    const { call } = await placeCall(harness, { maxDurationSeconds: 600 });
    endWhenHungUp(call, () => 600);
    await call.sleep(1_000);
    await call.answer();
    await call.startStream();
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration', billedSeconds: 600 });
    expect(harness.carrier.limits).toEqual([240, 600]);
    expect(harness.carrier.hungUp).toEqual([SID]);
  });

  it('that lasts 4 hours ends at 14,400 s and is billed to the second', async () => {
    const { call } = await placeCall(harness, { maxDurationSeconds: 14_400 });
    endWhenHungUp(call, () => 14_400);
    await call.answer();
    await call.startStream();
    expect(await call.result()).toMatchObject({ endReason: 'max_duration', billedSeconds: 14_400 });
    expect(harness.carrier.limits).toEqual([240, 960, 3_840, 14_400]);
  });

  it.each([60, 61, 100, 1_234])('with money for %i s is hung up then and billed exactly that', async (seconds) => {
    const { call } = await placeCall(harness, { seconds, maxDurationSeconds: 14_400 });
    const answeredAt = await call.now();
    let hungUpAt = 0;
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      hungUpAt = await call.now();
      await call.endStream('carrier_stop');
      // The carrier counts one second more than was paid for, because hanging up takes time.
      await call.end('completed', { durationSeconds: seconds + 1 });
    };
    await call.answer();
    await call.startStream();
    expect(await call.result()).toMatchObject({
      status: 'COMPLETED',
      endReason: 'balance_exhausted',
      billedSeconds: seconds,
    });
    expect(hungUpAt - answeredAt).toBeGreaterThanOrEqual(seconds * 1_000);
    expect(await call.balance()).toMatchObject({ availableMicros: 0, heldMicros: 0, billedMicros: seconds * 2_500 });
  });

  it.each(['agent_hangup', 'silence', 'voicemail'] as const)(
    'ends with the end reason of the media server: %s',
    async (reason) => {
      const { call } = await placeCall(harness);
      await call.answer();
      await call.startStream();
      await call.sleep(8_000);
      await call.endStream(reason);
      await call.end('completed', { durationSeconds: 8 });
      expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: reason, billedSeconds: 8 });
    },
  );

  it('is FAILED / media_failed and free if its audio failed before the agent was heard', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.endStream('media_failed', false);
    await call.end('completed', { durationSeconds: 3 });
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'media_failed', billedSeconds: 0 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });

  it('without callbacks is IN_PROGRESS by its stream and ends by the carrier’s record', async () => {
    const { call } = await placeCall(harness);
    await call.startStream();
    await call.sleep(9_000);
    const endedAt = await call.now();
    harness.carrier.record = {
      carrierSid: SID,
      status: 'completed',
      startedAt: endedAt - 9_000,
      endedAt,
      durationSeconds: 9,
    };
    await call.endStream();
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 9 });
  });

  it('with lost media signals uses the result that the media server stored', async () => {
    const { call } = await placeCall(harness);
    const at = new Date(await call.now());
    const stream = { callId: call.callId, streamId: sidOf('MZ', 9), carrierSid: SID, engine: 'test', startedAt: at };
    await harness.results.begin(stream);
    await harness.results.finish({
      ...stream,
      endedAt: at,
      endReason: 'agent_hangup',
      agentAudioPlayed: true,
      turns: [],
      summary: 'Short.',
      outputParameters: '{}',
      hasRecording: false,
    });
    await call.answer();
    await call.end('completed', { durationSeconds: 4 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 4 });
  });

  it('waits for a result that is not stored yet when the stream ends', async () => {
    const { call } = await placeCall(harness);
    const at = await call.now();
    await call.answer();
    await call.startStream();
    await harness.gateway.signalMedia(
      call.callId,
      { kind: 'ended', at, carrierSid: SID, reason: 'carrier_stop', agentAudioPlayed: true, resultStored: false },
      `${call.callId}:late-result`,
    );
    await call.end('completed', { durationSeconds: 3 });
    await call.sleep(1_000);
    expect(await call.stored()).toMatchObject({ status: 'COMPLETED', durationSeconds: 3 });
    await call.endStream();
    await call.result();
    expect(await call.stored()).toMatchObject({ summary: 'They spoke.' });
  });

  it('without further callbacks is final within five minutes, with an estimate', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.sleep(10_000);
    const before = await call.now();
    await call.endStream();
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup' });
    expect((await call.closedAt()) - before).toBeLessThan(300_000);
    expect(await call.balance()).toMatchObject({ heldMicros: 0 });
  });
});

describe('an unanswered call', () => {
  it.each([
    ['busy', {}, 'busy'],
    ['no-answer', {}, 'no_answer'],
    ['failed', { sipCode: 503 }, 'carrier_failed'],
    ['busy', { sipCode: 603 }, 'rejected'],
    ['failed', { sipCode: 404 }, 'invalid_number'],
  ] as const)('that ends as %s %p is FAILED and free', async (status, more, endReason) => {
    const receiver = await startReceiver();
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.end(status, more);
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason, billedSeconds: 0 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    const payload = JSON.parse(receiver.bodies[0] ?? '') as Record<string, unknown>;
    expect(payload).toMatchObject({ status: 'FAILED', cost: 0, external_call_id: '', input_parameters: '{}' });
    expect(payload.start_time).toBe(payload.created_at);
    await receiver.close();
  });

  it('is ended by our own ring timer without a callback', async () => {
    const { call } = await placeCall(harness, { ringTimeoutSeconds: 20 });
    harness.carrier.onHangUp = () => call.end('canceled');
    const before = await call.now();
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'no_answer' });
    expect((await call.closedAt()) - before).toBeGreaterThanOrEqual(30_000);
    expect((await call.closedAt()) - before).toBeLessThan(60_000);
    expect(harness.carrier.hungUp).toEqual([SID]);
  });

  it.each(['invalid_number', 'rejected', 'carrier_failed'] as const)(
    'that the carrier rejects at the dial is FAILED / %s',
    async (endReason) => {
      harness.carrier.outcomes = [{ outcome: 'refused', endReason }];
      const { call } = await placeCall(harness);
      expect(await call.result()).toMatchObject({ status: 'FAILED', endReason });
      expect(harness.carrier.dials).toBe(1);
    },
  );

  it('is dialed again after a throttled attempt, which placed no call', async () => {
    harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'throttled' }];
    const { call } = await placeCall(harness);
    await call.sleep(5_000);
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
    expect(harness.carrier.dials).toBe(3);
  });

  it('is FAILED / carrier_unreachable after a third throttled attempt', async () => {
    harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'unreachable' }, { outcome: 'throttled' }];
    const { call } = await placeCall(harness);
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'carrier_unreachable' });
    expect(harness.carrier.dials).toBe(3);
  });

  it('is not dialed again after an ambiguous attempt; its binding is closed when no call is found', async () => {
    harness.carrier.outcomes = [{ outcome: 'ambiguous' }];
    const { call } = await placeCall(harness);
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'carrier_unreachable', billedSeconds: 0 });
    expect(harness.carrier.dials).toBe(1);
    expect(await harness.database.carrierBindings.findById(call.callId).lean()).toMatchObject({ closed: true });
  });

  it('continues with the call that an ambiguous attempt placed', async () => {
    harness.carrier.outcomes = [{ outcome: 'ambiguous' }];
    harness.carrier.placed = [{ carrierSid: sidOf('CA', 2), status: 'queued' }];
    const { call } = await placeCall(harness);
    await call.sleep(3_000);
    await harness.gateway.signalCarrier(
      call.callId,
      {
        carrierSid: sidOf('CA', 2),
        kind: 'ended',
        at: await call.now(),
        status: 'busy',
      },
      'found',
    );
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
    expect(harness.carrier.dials).toBe(1);
  });
});

describe('a cancelled call', () => {
  it('is CANCELLED / operator_cancel when an operator cancels it in the Temporal UI while it rings', async () => {
    const { call } = await placeCall(harness);
    harness.carrier.onHangUp = () => call.end('canceled');
    await call.sleep(1_000);
    await harness.environment.client.workflow.getHandle(call.callId).cancel();
    expect(await call.result()).toMatchObject({ status: 'CANCELLED', endReason: 'operator_cancel', billedSeconds: 0 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });

  it('is COMPLETED and billed if it was answered before', async () => {
    const { call } = await placeCall(harness);
    endWhenHungUp(call, () => 5);
    await call.answer();
    await call.startStream();
    await call.sleep(5_000);
    await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'api_hangup', billedSeconds: 5 });
  });
});

describe('an inbound call', () => {
  it('is billed by the carrier’s duration from the start of its stream, and is limited at the carrier first', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    await call.startStream();
    await call.sleep(7_000);
    await call.endStream();
    await call.end('completed', { durationSeconds: 7 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', billedSeconds: 7 });
    expect(harness.carrier.limits).toEqual([60]);
    expect(harness.carrier.dials).toBe(0);
  });

  it('is CANCELLED and free if the caller hangs up before the stream', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    await call.end('completed', { durationSeconds: 1 });
    expect(await call.result()).toMatchObject({ status: 'CANCELLED', endReason: 'caller_hangup', billedSeconds: 0 });
  });

  it('is fetched from the carrier after 30 s without stream and callback, then CANCELLED', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    expect(await call.result()).toMatchObject({ status: 'CANCELLED', endReason: 'caller_hangup', billedSeconds: 0 });
  });

  it('is hung up as FAILED / media_failed if it continues without a stream after 30 s', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    harness.carrier.record = { carrierSid: SID, status: 'in-progress', startedAt: await call.now() };
    harness.carrier.onHangUp = () => call.end('completed', { durationSeconds: 31 });
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'media_failed', billedSeconds: 0 });
    expect(harness.carrier.hungUp).toEqual([SID]);
  });
});

describe('a rejected call', () => {
  it('for its balance holds nothing, dials nothing and has no document', async () => {
    const { answer, call } = await placeCall(harness, { seconds: 59 });
    expect(answer).toEqual({ outcome: 'refused', code: 'INSUFFICIENT_BALANCE' });
    expect(await call.result()).toEqual({ reservation: answer });
    expect(await call.stored()).toBeNull();
    expect(await call.balance()).toMatchObject({ availableMicros: 59 * 2_500, heldMicros: 0 });
    expect(harness.carrier.dials).toBe(0);
  });

  it('for the concurrency limit reports limit and current and releases its hold', async () => {
    const { answer, call } = await placeCall(harness, { concurrentCalls: 0 });
    expect(answer).toEqual({ outcome: 'refused', code: 'CONCURRENCY_LIMIT_EXCEEDED', limit: 0, current: 0 });
    await call.result();
    expect(await call.stored()).toBeNull();
    expect(await call.balance()).toMatchObject({ heldMicros: 0 });
  });

  it('for the daily spending limit reports that limit even if no slot is free', async () => {
    const { answer, call } = await placeCall(harness, { concurrentCalls: 0, dailySpendCapMicros: 149_999 });
    expect(answer).toEqual({ outcome: 'refused', code: 'SPEND_LIMIT_EXCEEDED' });
    await call.result();
    expect(await call.balance()).toMatchObject({ heldMicros: 0 });
  });

  it.each([
    ['because its reservation was too late is voided, gets a tombstone and is not dialed', false, 1],
    // With 0 ms no attempt begins. An attempt that begins may store the call, and then it goes ahead.
    ['because its reservation did not begin in time is given up by its record, and not dialed', true, 0],
  ])('%s', async (_name, isDecidedByRecord, answerWithinMs) => {
    const decideBy = (await harness.environment.currentTimeMs()) + 60_000;
    const { answer, call } = await placeCall(harness, { answerWithinMs, ...(isDecidedByRecord ? { decideBy } : {}) });
    expect(answer).toEqual({ outcome: 'expired' });
    await call.result();
    expect(await call.stored()).not.toMatchObject({ accountId: call.accountId });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    expect(harness.carrier.dials).toBe(0);
  });
});
