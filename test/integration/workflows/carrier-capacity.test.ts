import { placeCall, SID, startHarness, type Harness } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
beforeEach(() => {
  Object.assign(harness.carrier, { dials: 0, outcomes: [], record: undefined, placed: [], onHangUp: undefined });
  harness.carrier.hungUp.length = 0;
});

afterEach(() =>
  recordHistory(harness, {
    'is dialed again, more often than after other failures': 'carrier-full',
    'a call that the carrier queues for 20000 ms is given up after 60000 ms': 'queued-at-carrier',
  }),
);

describe('a call for which the carrier has no capacity', () => {
  const full = { outcome: 'throttled', afterMs: 5_000, rejection: { code: '10004', remedy: 'Ask.' } } as const;

  it('is dialed again, more often than after other failures', async () => {
    harness.carrier.outcomes = [full, full, full, full];
    const { call } = await placeCall(harness);
    // The carrier has no call that could end before it accepts the fifth dial, after about 29 s.
    await call.sleep(40_000);
    await call.end('completed', { durationSeconds: 7 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED', billedSeconds: 7 });
    expect(harness.carrier.dials).toBe(5);
  });

  it('expires after a minute without a bill', async () => {
    harness.carrier.outcomes = Array.from({ length: 40 }, () => full);
    const { call } = await placeCall(harness);
    const before = await call.now();
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'expired', billedSeconds: 0 });
    expect((await call.closedAt()) - before).toBeLessThan(90_000);
    expect(harness.carrier.dials).toBeGreaterThan(3);
    expect(harness.carrier.dials).toBeLessThan(15);
  });
});

it.each([
  [undefined, 40_000],
  [20_000, 60_000],
  // The service itself lets no call wait longer than a minute.
  [86_400_000, 100_000],
])('a call that the carrier queues for %s ms is given up after %s ms', async (queuedMs, givenUpAfterMs) => {
  const queued = queuedMs === undefined ? {} : { queuedMs };
  harness.carrier.outcomes = [{ outcome: 'accepted', carrierSid: SID, ...queued }];
  const { call } = await placeCall(harness, { ringTimeoutSeconds: 30 });
  harness.carrier.onHangUp = () => call.end('canceled');
  const before = await call.now();
  expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'no_answer' });
  expect((await call.closedAt()) - before).toBeGreaterThanOrEqual(givenUpAfterMs);
  expect((await call.closedAt()) - before).toBeLessThan(givenUpAfterMs + 60_000);
  expect(harness.carrier.hungUp).toEqual([SID]);
});
