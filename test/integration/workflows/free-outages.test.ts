import { placeCall, startHarness, type Harness } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
// All calls of the harness have the same carrier call, which can be bound once.
beforeEach(async () => {
  await harness.database.carrierBindings.deleteMany({});
});
afterAll(() => harness.stop());
afterEach(() =>
  recordHistory(harness, {
    'is free if the API never told the carrier what to do': 'uninstructed',
    'is free if a stream never started and the callee hung up while another one was to follow': 'stream-never-started',
    'is free if a stream never started and an API client then ended the call': 'free-however-ended',
  }),
);

const FREE = { status: 'FAILED', endReason: 'media_failed', billedSeconds: 0 };
const NEVER_STARTED = { agentAudioPlayed: false, neverStarted: true } as const;
const UNHEARD = { agentAudioPlayed: false };

describe('an answered call without audio', () => {
  it('is free if the API never told the carrier what to do', async () => {
    const { call } = await placeCall(harness, { uninstructed: true });
    await call.answer();
    await call.end('completed', { durationSeconds: 4 });
    expect(await call.result()).toMatchObject(FREE);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });

  it('is billed if the carrier got its instruction and the callee hung up', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.end('completed', { durationSeconds: 1 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 1 });
  });

  it('is billed if the callee hung up before the carrier could ask what to do, while the API was reachable', async () => {
    const { call } = await placeCall(harness, { uninstructed: true });
    await call.answer();
    await call.end('completed', { durationSeconds: 1 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 1 });
  });

  it('is free even if it was short, if the API learned of the answer too late', async () => {
    const { call } = await placeCall(harness, { uninstructed: true });
    await call.end('completed', { durationSeconds: 1 });
    expect(await call.result()).toMatchObject(FREE);
  });

  it('is billed if an API client ended it before the carrier could ask what to do', async () => {
    const { call } = await placeCall(harness, { uninstructed: true });
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.end('completed', { durationSeconds: 1 });
    };
    await call.answer();
    await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'api_hangup', billedSeconds: 1 });
  });

  it('is billed if its binding is of an earlier release, which did not record instructions', async () => {
    const { call } = await placeCall(harness, { uninstructed: true });
    await call.answer();
    await harness.database.carrierBindings.updateOne({ _id: call.callId }, { $unset: { isInstructed: '' } });
    await call.end('completed', { durationSeconds: 4 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 4 });
  });

  it('is free if a stream never started and the callee hung up while another one was to follow', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    expect(await call.reconnect(0, NEVER_STARTED)).toEqual({ decision: 'stream', resumption: 1 });
    await call.end('completed', { durationSeconds: 3 });
    expect(await call.result()).toMatchObject(FREE);
  });

  it('is free if a stream never started and an API client then ended the call', async () => {
    const { call } = await placeCall(harness);
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.end('completed', { durationSeconds: 3 });
    };
    await call.answer();
    await call.reconnect(0, NEVER_STARTED);
    await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    expect(await call.result()).toMatchObject(FREE);
  });
});

describe('a call whose stream closed before the agent was heard', () => {
  it('is free if the callee then hung up without having heard the agent', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.reconnect(0, UNHEARD);
    await call.endStream('carrier_stop', false);
    await call.end('completed', { durationSeconds: 5 });
    expect(await call.result()).toMatchObject(FREE);
  });

  it('is billed from its answer if the agent was heard in the next stream', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.reconnect(0, UNHEARD);
    await call.sleep(5_000);
    await call.endStream('carrier_stop', true);
    await call.end('completed', { durationSeconds: 5 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 5 });
  });

  it('is billed if it continued for more than 30 s, as with an agent that only listens', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.reconnect(0, UNHEARD);
    await call.sleep(31_000);
    await call.endStream('carrier_stop', false);
    await call.end('completed', { durationSeconds: 31 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 31 });
  });

  it('is billed if the agent transferred it without a word', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.reconnect(0, UNHEARD);
    await call.endStream('transferred', false);
    await call.sleep(40_000);
    await call.end('completed', { durationSeconds: 40 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 40 });
  });
});
