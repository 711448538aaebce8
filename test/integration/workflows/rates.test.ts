import { placeCall, startHarness, type Harness, type TestCall } from './harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
beforeEach(() => {
  harness.carrier.limits.length = 0;
});

/** The carrier ends the call after the service has hung up, and counts one second more than was paid for. */
function endWhenHungUp(call: TestCall, seconds: number): void {
  harness.carrier.onHangUp = async () => {
    harness.carrier.onHangUp = undefined;
    await call.endStream('carrier_stop');
    await call.end('completed', { durationSeconds: seconds + 1 });
  };
}

describe('a call with its own rate', () => {
  it.each([
    [833, 100, [100]],
    [40_000, 61, [61]],
    [40_000, 1_234, [240, 960, 1_234]],
    [1_000_000, 300, [240, 300]],
  ])(
    'of %d micro-USD per second lasts %d s, as long as its money, with the same limits at the carrier',
    async (rate, seconds, limits) => {
      const { call } = await placeCall(harness, { microsPerSecond: rate, seconds, maxDurationSeconds: 14_400 });
      const answeredAt = await call.now();
      endWhenHungUp(call, seconds);
      await call.answer();
      await call.startStream();
      expect(await call.result()).toMatchObject({
        status: 'COMPLETED',
        endReason: 'balance_exhausted',
        billedSeconds: seconds,
      });
      expect((await call.now()) - answeredAt).toBeGreaterThanOrEqual(seconds * 1_000);
      expect(harness.carrier.limits).toEqual(limits);
      expect(await call.balance()).toMatchObject({ availableMicros: 0, heldMicros: 0, billedMicros: seconds * rate });
      expect(await call.stored()).toMatchObject({
        microsPerSecond: rate,
        durationSeconds: seconds,
        costMicros: seconds * rate,
        // The call's read model announced in advance that the call would end after this many seconds, and the call did
        // end then.
        endsAfterSeconds: seconds,
      });
    },
  );

  it('is rejected with money for 59 s, and costs exactly four hours after four hours', async () => {
    const microsPerSecond = 3_333;
    const short = await placeCall(harness, { microsPerSecond, seconds: 59 });
    expect(short.answer).toEqual({ outcome: 'refused', code: 'INSUFFICIENT_BALANCE' });
    expect(await short.call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    const { call } = await placeCall(harness, { microsPerSecond, maxDurationSeconds: 14_400 });
    endWhenHungUp(call, 14_400);
    await call.answer();
    await call.startStream();
    expect(await call.result()).toMatchObject({ endReason: 'max_duration', billedSeconds: 14_400 });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 14_400 * microsPerSecond });
  });
});
