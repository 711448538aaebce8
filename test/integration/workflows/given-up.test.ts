import { placeCall, SID, startHarness, type Harness, type TestCall } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ replaysAlways: true });
}, 120_000);
beforeEach(async () => {
  // All calls of the harness have the same carrier call, which can be bound once.
  await harness.database.carrierBindings.deleteMany({});
  harness.carrier.hungUp.length = 0;
  harness.carrier.record = { carrierSid: SID, status: 'in-progress' };
});
afterAll(() => harness.stop());
afterEach(() =>
  recordHistory(harness, {
    'continues if another process had continued it in a later stream': 'late-give-up',
    'continues if another process then continues it in a later stream, and its money is held': 'give-up-taken-over',
  }),
);

/** Ends the call as a conversation does. */
async function endNormally(call: TestCall, durationSeconds: number) {
  await call.endStream('agent_hangup');
  await call.end('completed', { durationSeconds });
  return call.result();
}

describe('a call that an API process gave up', () => {
  it('continues if another process had continued it in a later stream', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    await call.giveUp(0);
    await call.sleep(40_000);
    expect(harness.carrier.hungUp).toEqual([]);
    const ended = { status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 40 };
    expect(await endNormally(call, 40)).toMatchObject(ended);
  });

  it('continues if another process then continues it in a later stream, and its money is held', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    await call.giveUp(0);
    await call.sleep(5_000);
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    await call.sleep(300_000);
    expect(harness.carrier.hungUp).toEqual([]);
    const ended = { status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 305 };
    expect(await endNormally(call, 305)).toMatchObject(ended);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 305 * 2_500 });
  });

  it('continues if it was given up and continued while no worker ran', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.sleep(1_000);
    await harness.withoutWorkers(async () => {
      await call.giveUp(-1);
      await call.startStream();
    });
    await call.sleep(300_000);
    expect(harness.carrier.hungUp).toEqual([]);
    const ended = { status: 'COMPLETED', endReason: 'agent_hangup', billedSeconds: 301 };
    expect(await endNormally(call, 301)).toMatchObject(ended);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 301 * 2_500 });
  });

  it('continues if it was received, and its first stream starts only then', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound' });
    await call.giveUp(0);
    await call.sleep(1_000);
    expect(await call.reconnect(0, { neverStarted: true })).toEqual({ decision: 'stream', resumption: 1 });
    await call.sleep(2_000);
    await call.startStream();
    await call.sleep(100_000);
    expect(harness.carrier.hungUp).toEqual([]);
    expect(await endNormally(call, 100)).toMatchObject({ endReason: 'agent_hangup', billedSeconds: 100 });
  });

  it('ends with its money if it continues after the last hold', async () => {
    const { call } = await placeCall(harness, { seconds: 60 });
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.endStream('carrier_stop');
      await call.end('completed', { durationSeconds: 60 });
    };
    await call.answer();
    await call.startStream();
    await call.sleep(58_000);
    await call.giveUp(0);
    expect(await call.reconnect(0)).toMatchObject({ decision: 'stream' });
    expect(await call.result()).toMatchObject({ endReason: 'balance_exhausted', billedSeconds: 60 });
  });

  it('continues if another process answered it and its first stream starts', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.giveUp(-1);
    await call.sleep(5_000);
    await call.startStream();
    await call.sleep(60_000);
    expect(harness.carrier.hungUp).toEqual([]);
    expect(await endNormally(call, 65)).toMatchObject({ endReason: 'agent_hangup', billedSeconds: 65 });
  });

  it('ends if no later stream continues it', async () => {
    const { call } = await placeCall(harness);
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.end('completed', { durationSeconds: 30 });
    };
    await call.answer();
    await call.startStream();
    await call.giveUp(0);
    expect(await call.result()).toMatchObject({ endReason: 'media_failed' });
    expect(harness.carrier.hungUp).toEqual([SID]);
  });

  it('ends as failed by us if the stream that the workflow granted never started', async () => {
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    expect(await call.reconnect(0)).toEqual({ decision: 'stream', resumption: 1 });
    await call.giveUp(0);
    await call.end('completed', { durationSeconds: 30 });
    expect(await call.result()).toMatchObject({ endReason: 'media_failed' });
  });
});
