import { LONGEST_DIAL_WAIT_MS } from '../../../src/telephony/pacing/dial-queue.js';
import { lastLease, placeCall, startHarness, startReceiver, type Harness, type TestCall } from './harness.js';
import { recordHistory } from './recorded-histories.js';

jest.setTimeout(180_000);

let harness: Harness;
let dialedAt: number[];

beforeAll(async () => {
  harness = await startHarness({ env: { CARRIER_CALLS_PER_SECOND: '1' } });
}, 120_000);
afterAll(() => harness.stop());
beforeEach(async () => {
  await harness.database.dialPacing.deleteMany({});
  const { carrier } = harness;
  dialedAt = [];
  carrier.dials = 0;
  carrier.outcomes = [];
  carrier.onHangUp = undefined;
  carrier.onDial = async () => void dialedAt.push(await harness.environment.currentTimeMs());
});

const RECORDED = {
  'waits for a dial slot as IDLE with the reason, then rings, and the wait adds nothing to its history': 'paced',
  'is FAILED / expired after a minute of waiting: not dialed, its hold voided, its webhook sent': 'paced-expired',
  'is CANCELLED and not dialed when the API cancels it while it waits': 'paced-cancelled',
};

afterEach(async () => {
  await recordHistory(harness, RECORDED);
  // Every call releases its concurrency slot once, however it ends.
  expect(await lastLease(harness)).toEqual({ taken: 0, released: true });
});

/** Takes all dial slots of the carrier account for the next seconds. */
async function occupy(seconds: number): Promise<void> {
  const nextSlotAt = (await harness.environment.currentTimeMs()) + seconds * 1_000;
  const { carrierAccountId: _id } = harness.config.carriers.live;
  await harness.database.dialPacing.create([{ _id, version: 0, turn: 0, waiting: {}, nextSlotAt }]);
}

async function detailsOf(call: TestCall): Promise<string> {
  return harness.environment.client.workflow.getHandle(call.callId).query<string>('details');
}

/** Waits in real time for work that the worker does without the test's clock moving. */
async function eventually(condition: () => Promise<unknown>): Promise<void> {
  for (const giveUpAt = Date.now() + 10_000; !(await condition());) {
    if (Date.now() > giveUpAt) throw new Error('The condition did not become true within 10 s.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Waits until the carrier has received this many dials. Activities take real time, while the test's clock jumps. On a
 * busy machine, an activity that is late waits for its next attempt. So this advances the clock a little for each
 * second without a dial.
 */
async function waitForDials(
  times: number,
  call: TestCall,
  isOver: () => Promise<unknown> = () => Promise.resolve(false),
): Promise<void> {
  for (let tries = 0; tries < 30 && dialedAt.length < times; tries += 1) {
    for (let waits = 0; waits < 20 && dialedAt.length < times; waits += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (dialedAt.length >= times) break;
    if (await isOver()) return;
    await call.sleep(500);
  }
  expect(dialedAt).toHaveLength(times);
}

/**
 * Asserts that the carrier account used one dial slot per second, beginning with the first request. On a busy machine a
 * dial may come later than its slot, but never earlier.
 */
function expectOnePerSecond(since: number): void {
  const sorted = dialedAt.toSorted((a, b) => a - b);
  for (const [index, at] of sorted.entries()) expect(at - since).toBeGreaterThanOrEqual(index * 1_000);
}

const hasStatus = (call: TestCall, status: 'FAILED' | 'IDLE') =>
  harness.database.calls.exists({ _id: call.callId, status });
const isWaiting = (call: TestCall) => hasStatus(call, 'IDLE');

describe('a call on a carrier account that accepts one call per second', () => {
  it('is dialed at once and stays RINGING if there are no other calls', async () => {
    const place = async () => {
      const { answer, call } = await placeCall(harness, { paced: true });
      expect(answer).toEqual({ outcome: 'granted' });
      await waitForDials(1, call, () => hasStatus(call, 'FAILED'));
      return call;
    };
    let call = await place();
    for (let calls = 1; dialedAt.length === 0 && calls < 5; calls += 1) {
      // On a busy machine all attempts may come too late for their slots.
      expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'carrier_unreachable' });
      call = await place();
    }
    expect(await call.stored()).toMatchObject({ status: 'RINGING' });
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
    expect(dialedAt).toHaveLength(1);
  });

  it('waits for a dial slot as IDLE with the reason, then rings, and the wait adds nothing to its history', async () => {
    await occupy(20);
    const placedAt = await harness.environment.currentTimeMs();
    const { answer, call } = await placeCall(harness, { paced: true });
    expect(answer).toEqual({ outcome: 'granted' });
    await eventually(() => isWaiting(call));
    expect(await call.stored()).toMatchObject({ status: 'IDLE', waitingFor: 'dial_slot' });
    expect(await detailsOf(call)).toMatch(/IDLE[\s\S]*waiting since .* for a dial slot/);
    await call.sleep(10_000);
    expect(harness.carrier.dials).toBe(0);
    await call.sleep(12_000);
    await waitForDials(1, call);
    expect((dialedAt[0] ?? 0) - placedAt).toBeGreaterThanOrEqual(19_000);
    const ringing = await call.stored();
    expect(ringing).toMatchObject({ status: 'RINGING' });
    expect(ringing).not.toHaveProperty('waitingFor');
    await call.end('busy');
    await call.result();
    const { events } = await harness.environment.client.workflow.getHandle(call.callId).fetchHistory();
    const attempts = events?.filter((event) => event.activityTaskStartedEventAttributes) ?? [];
    expect(
      Math.max(...attempts.map((event) => Number(event.activityTaskStartedEventAttributes?.attempt))),
    ).toBeGreaterThan(2);
    expect(events?.length).toBeLessThanOrEqual(50);
  });

  it('is FAILED / expired after a minute of waiting: not dialed, its hold voided, its webhook sent', async () => {
    await occupy(300);
    const receiver = await startReceiver();
    const placedAt = await harness.environment.currentTimeMs();
    const { call } = await placeCall(harness, { paced: true, webhookUrl: receiver.url });
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'expired', billedSeconds: 0 });
    const waitedMs = (await call.closedAt()) - placedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(LONGEST_DIAL_WAIT_MS);
    expect(waitedMs).toBeLessThan(LONGEST_DIAL_WAIT_MS + 15_000);
    expect(harness.carrier.dials).toBe(0);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    expect(receiver.bodies.map((body) => (JSON.parse(body) as { status: string }).status)).toEqual(['FAILED']);
    expect(await call.stored()).not.toHaveProperty('waitingFor');
    await receiver.close();
  });

  it.each(['the API', 'an operator'])(
    'is CANCELLED and not dialed when %s cancels it while it waits',
    async (canceller) => {
      await occupy(30);
      const { call } = await placeCall(harness, { paced: true });
      await eventually(() => isWaiting(call));
      await call.sleep(5_000);
      if (canceller === 'the API') await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
      else await harness.environment.client.workflow.getHandle(call.callId).cancel();
      const endReason = canceller === 'the API' ? 'api_hangup' : 'operator_cancel';
      expect(await call.result()).toMatchObject({ status: 'CANCELLED', endReason, billedSeconds: 0 });
      expect(await call.stored()).toMatchObject({ status: 'CANCELLED' });
      await call.sleep(60_000);
      expect(harness.carrier.dials).toBe(0);
      expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    },
  );

  it('uses a slot for each attempt, all within one minute of waiting', async () => {
    let call = await callWithThreeAttempts();
    for (let calls = 1; dialedAt.length < 3 && calls < 5; calls += 1) {
      // On a busy machine an attempt may come too late for its slot. The attempt counts, but the carrier is not called.
      expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'carrier_unreachable' });
      call = await callWithThreeAttempts();
    }
    expect(dialedAt).toHaveLength(3);
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
  });

  /**
   * Places a call whose first two attempts the carrier throttles. Resolves after the third attempt, or when it is clear
   * that there is none.
   */
  async function callWithThreeAttempts(): Promise<TestCall> {
    dialedAt = [];
    harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'throttled' }];
    const placedAt = await harness.environment.currentTimeMs();
    const { call } = await placeCall(harness, { paced: true });
    await call.sleep(10_000);
    await waitForDials(3, call, () => hasStatus(call, 'FAILED'));
    expectOnePerSecond(placedAt);
    return call;
  }

  it('is dialed among calls of several accounts, one per second', async () => {
    const placedAt = await harness.environment.currentTimeMs();
    const first = await placeCall(harness, { paced: true });
    const calls = [first.call];
    for (let i = 0; i < 3; i++) {
      calls.push((await placeCall(harness, { paced: true, accountId: first.call.accountId })).call);
    }
    const other = (await placeCall(harness, { paced: true })).call;
    calls.push(other);
    await first.call.sleep(15_000);
    await waitForDials(5, first.call);
    expectOnePerSecond(placedAt);
    for (const call of calls) {
      await call.end('busy');
      await call.result();
    }
  });
});
