import { LONGEST_DIAL_WAIT_MS } from '../../../src/telephony/pacing/dial-queue.js';
import { lastLease, placeCall, startHarness, startReceiver, type Harness, type TestCall } from './harness.js';
import { recordHistory } from './recorded-histories.js';

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
  'waits for its turn as IDLE with the reason, then rings, and the wait costs its history nothing': 'paced',
  'that waits for more than a minute is FAILED / expired: nothing dialed, the hold voided, the webhook sent':
    'paced-expired',
  'cancelled by the API while it waits is CANCELLED and never dialed': 'paced-cancelled',
};

afterEach(async () => {
  await recordHistory(harness, RECORDED);
  // However a call ends: its place is given back, once.
  expect(await lastLease(harness)).toEqual({ taken: 0, released: true });
});

/** Takes the carrier account's slots of the next seconds. */
async function occupy(seconds: number): Promise<void> {
  const nextSlotAt = (await harness.environment.currentTimeMs()) + seconds * 1_000;
  const { carrierAccountId: _id } = harness.config.carriers.live;
  await harness.database.dialPacing.create([{ _id, version: 0, turn: 0, waiting: {}, nextSlotAt }]);
}

async function detailsOf(call: TestCall): Promise<string> {
  return harness.environment.client.workflow.getHandle(call.callId).query<string>('details');
}

/** Waits, in real time, for what the worker does without time passing. */
async function eventually(look: () => Promise<unknown>): Promise<void> {
  for (const giveUpAt = Date.now() + 10_000; !(await look());) {
    if (Date.now() > giveUpAt) throw new Error('It did not come to be within 10 s.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Activities take real time while the server's clock leaps, so those that a busy machine has not run yet may have to wait
 * for their next try: the clock is moved on a little for each second that nothing came.
 */
async function dialed(
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
 * That the dials had one slot per second. What is recorded is when a dial was carried out, which a busy machine delays by
 * more or less; but none is ever before its slot, and the slots begin at the first order.
 */
function expectOnePerSecond(since: number): void {
  const sorted = dialedAt.toSorted((a, b) => a - b);
  for (const [index, at] of sorted.entries()) expect(at - since).toBeGreaterThanOrEqual(index * 1_000);
}

const isWaiting = (call: TestCall) => harness.database.calls.exists({ _id: call.callId, status: 'IDLE' });

describe('a call on a carrier account that takes one call per second', () => {
  it('is dialed at once, and was RINGING all the time, when nobody else dials', async () => {
    const { answer, call } = await placeCall(harness, { paced: true });
    expect(answer).toEqual({ outcome: 'granted' });
    await dialed(1, call);
    expect(await call.stored()).toMatchObject({ status: 'RINGING' });
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
    expect(dialedAt).toHaveLength(1);
  });

  it('waits for its turn as IDLE with the reason, then rings, and the wait costs its history nothing', async () => {
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
    await dialed(1, call);
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

  it('that waits for more than a minute is FAILED / expired: nothing dialed, the hold voided, the webhook sent', async () => {
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

  it.each(['the API', 'an operator'])('cancelled by %s while it waits is CANCELLED and never dialed', async (who) => {
    await occupy(30);
    const { call } = await placeCall(harness, { paced: true });
    await eventually(() => isWaiting(call));
    await call.sleep(5_000);
    if (who === 'the API') await harness.gateway.hangUp(call.callId, { cause: 'api_hangup' });
    else await harness.environment.client.workflow.getHandle(call.callId).cancel();
    const endReason = who === 'the API' ? 'api_hangup' : 'operator_cancel';
    expect(await call.result()).toMatchObject({ status: 'CANCELLED', endReason, billedSeconds: 0 });
    expect(await call.stored()).toMatchObject({ status: 'CANCELLED' });
    await call.sleep(60_000);
    expect(harness.carrier.dials).toBe(0);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });

  it('takes a slot for every try, all within one minute of waiting', async () => {
    let call = await triedThrice();
    for (let calls = 1; dialedAt.length < 3 && calls < 5; calls += 1) {
      // On a busy machine a try may come too late for its slot: it counts, and the carrier is not asked.
      expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'carrier_unreachable' });
      call = await triedThrice();
    }
    expect(dialedAt).toHaveLength(3);
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
  });

  /** A call whose first two tries the carrier turns away; resolves when the third was made, or none follows. */
  async function triedThrice(): Promise<TestCall> {
    dialedAt = [];
    harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'throttled' }];
    const placedAt = await harness.environment.currentTimeMs();
    const { call } = await placeCall(harness, { paced: true });
    await call.sleep(10_000);
    await dialed(3, call, () => harness.database.calls.exists({ _id: call.callId, status: 'FAILED' }));
    expectOnePerSecond(placedAt);
    return call;
  }

  it('is one of many, which are dialed one per second, whosever they are', async () => {
    const placedAt = await harness.environment.currentTimeMs();
    const first = await placeCall(harness, { paced: true });
    const calls = [first.call];
    for (let i = 0; i < 3; i++) {
      calls.push((await placeCall(harness, { paced: true, accountId: first.call.accountId })).call);
    }
    const other = (await placeCall(harness, { paced: true })).call;
    calls.push(other);
    await first.call.sleep(15_000);
    await dialed(5, first.call);
    expectOnePerSecond(placedAt);
    for (const call of calls) {
      await call.end('busy');
      await call.result();
    }
  });
});
