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
  await harness.database.dialPacing.deleteMany({});
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

type Calls = [TestCall, ...TestCall[]];

/**
 * Places calls until the carrier has received the expected dials. On a busy machine all attempts of a call may come too
 * late for their slots. Such a call fails, and the carrier is not called.
 * @param place places calls, and waits for the dials of all of them
 */
async function untilDialed(times: number, place: () => Promise<Calls>): Promise<Calls> {
  for (let tries = 0; tries < 5; tries += 1) {
    dialedAt = [];
    const calls = await place();
    if (dialedAt.length === times) return calls;
    expect(dialedAt.length).toBeLessThan(times);
    for (const call of calls) {
      if (await hasStatus(call, 'RINGING')) await call.end('busy');
      expect(await call.result()).toMatchObject({ status: 'FAILED' });
    }
  }
  throw new Error(`The carrier received ${dialedAt.length} dials, expected ${times}, in each of five tries.`);
}

/**
 * Waits until the carrier has received this many dials. Activities take real time, while the test's clock jumps. On a
 * busy machine, an activity that is late waits for its next attempt. So this advances the clock a little for each
 * second without a dial. Returns earlier if one of the calls fails.
 */
async function waitForDials(times: number, ...calls: Calls): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    for (let waits = 0; waits < 20 && dialedAt.length < times; waits += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (dialedAt.length >= times) return;
    const failed = await Promise.all(calls.map((call) => hasStatus(call, 'FAILED')));
    if (failed.some((each) => each !== null)) return;
    await calls[0].sleep(500);
  }
}

/**
 * Asserts that the carrier account used one dial slot per second, beginning with the first request. On a busy machine a
 * dial may come later than its slot, but never earlier.
 */
function expectOnePerSecond(since: number): void {
  const sorted = dialedAt.toSorted((a, b) => a - b);
  for (const [index, at] of sorted.entries()) expect(at - since).toBeGreaterThanOrEqual(index * 1_000);
}

const hasStatus = (call: TestCall, status: 'FAILED' | 'IDLE' | 'RINGING') =>
  harness.database.calls.exists({ _id: call.callId, status });
const isWaiting = (call: TestCall) => hasStatus(call, 'IDLE');

describe('a call on a carrier account that accepts one call per second', () => {
  it('is dialed at once and stays RINGING if there are no other calls', async () => {
    const [call] = await untilDialed(1, async () => {
      const placed = await placeCall(harness, { paced: true });
      expect(placed.answer).toEqual({ outcome: 'granted' });
      await waitForDials(1, placed.call);
      return [placed.call];
    });
    expect(await call.stored()).toMatchObject({ status: 'RINGING' });
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
    expect(dialedAt).toHaveLength(1);
  });

  it('waits for a dial slot as IDLE with the reason, then rings, and the wait adds nothing to its history', async () => {
    const [call] = await untilDialed(1, async () => {
      await occupy(20);
      const placedAt = await harness.environment.currentTimeMs();
      const placed = await placeCall(harness, { paced: true });
      expect(placed.answer).toEqual({ outcome: 'granted' });
      await eventually(() => isWaiting(placed.call));
      expect(await placed.call.stored()).toMatchObject({ status: 'IDLE', waitingFor: 'dial_slot' });
      expect(await detailsOf(placed.call)).toMatch(/IDLE[\s\S]*waiting since .* for a dial slot/);
      await placed.call.sleep(10_000);
      expect(dialedAt).toEqual([]);
      await placed.call.sleep(12_000);
      await waitForDials(1, placed.call);
      expect((dialedAt[0] ?? Infinity) - placedAt).toBeGreaterThanOrEqual(19_000);
      return [placed.call];
    });
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
    const [call] = await untilDialed(3, async () => {
      harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'throttled' }];
      const placedAt = await harness.environment.currentTimeMs();
      const placed = await placeCall(harness, { paced: true });
      await placed.call.sleep(10_000);
      await waitForDials(3, placed.call);
      expectOnePerSecond(placedAt);
      return [placed.call];
    });
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
  });

  it('is dialed among calls of several accounts, one per second', async () => {
    const calls = await untilDialed(5, async () => {
      const placedAt = await harness.environment.currentTimeMs();
      const { call: first } = await placeCall(harness, { paced: true });
      const placed: Calls = [first];
      for (let i = 0; i < 3; i++) {
        placed.push((await placeCall(harness, { paced: true, accountId: first.accountId })).call);
      }
      placed.push((await placeCall(harness, { paced: true })).call);
      await first.sleep(15_000);
      await waitForDials(5, ...placed);
      expectOnePerSecond(placedAt);
      return placed;
    });
    for (const call of calls) {
      await call.end('busy');
      await call.result();
    }
  });
});
