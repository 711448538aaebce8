import { lastLease, placeCall, startHarness, type Harness } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
afterEach(async () => {
  await recordHistory(harness, { 'continues window after window and is billed to its end': 'transferred' });
  expect(await lastLease(harness)).toEqual({ taken: 0, released: true });
});

/** Runs a call that its agent transfers after 20 s. */
async function transferredCall(options: { maxDurationSeconds?: number } = {}) {
  const { call } = await placeCall(harness, options);
  await call.answer();
  await call.startStream();
  await call.sleep(20_000);
  await call.endStream('transferred');
  return call;
}

describe('a transferred call', () => {
  it('continues window after window and is billed to its end', async () => {
    harness.carrier.limits.length = 0;
    const call = await transferredCall();
    await call.sleep(280_000);
    expect(await call.stored()).toMatchObject({ status: 'IN_PROGRESS' });
    expect(harness.carrier.hungUp).toEqual([]);
    expect(harness.carrier.limits).toEqual([240, 600]);
    await call.end('completed', { durationSeconds: 300 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billedSeconds: 300 });
    expect(await call.stored()).toMatchObject({ durationSeconds: 300, summary: 'They spoke.' });
  });

  it('ends at its maximum duration', async () => {
    const call = await transferredCall({ maxDurationSeconds: 120 });
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.end('completed', { durationSeconds: 120 });
    };
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration', billedSeconds: 120 });
  });

  it('is ended by a cancel request', async () => {
    const call = await transferredCall();
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.end('completed', { durationSeconds: 21 });
    };
    await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', endReason: 'api_hangup', billedSeconds: 21 });
  });
});
