import { LONGEST_DIAL_WAIT_MS } from '../../src/telephony/pacing/dial-queue.js';
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
  const { accountSid: _id } = harness.config.carriers.live;
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

/** Activities take real time while the server's clock leaps. */
const dialed = (times: number) => eventually(() => Promise.resolve(dialedAt.length >= times));

const isWaiting = (call: TestCall) => harness.database.calls.exists({ _id: call.callId, status: 'IDLE' });

describe('a call on a carrier account that takes one call per second', () => {
  it('is dialed at once, and was RINGING all the time, when nobody else dials', async () => {
    const { answer, call } = await placeCall(harness, { paced: true });
    expect(answer).toEqual({ outcome: 'granted' });
    await dialed(1);
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
    await dialed(1);
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
    harness.carrier.outcomes = [{ outcome: 'throttled' }, { outcome: 'throttled' }];
    const { call } = await placeCall(harness, { paced: true });
    await call.sleep(10_000);
    await dialed(3);
    expect(dialedAt).toHaveLength(3);
    for (const [index, at] of dialedAt.entries()) expect(at - (dialedAt[index - 1] ?? 0)).toBeGreaterThanOrEqual(1_000);
    await call.end('busy');
    expect(await call.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
  });

  it('is one of many, which are dialed one per second, whosever they are', async () => {
    const first = await placeCall(harness, { paced: true });
    const calls = [first.call];
    for (let i = 0; i < 3; i++) {
      calls.push((await placeCall(harness, { paced: true, accountId: first.call.accountId })).call);
    }
    const other = (await placeCall(harness, { paced: true })).call;
    calls.push(other);
    await first.call.sleep(15_000);
    await dialed(5);
    expect(dialedAt).toHaveLength(5);
    const sorted = dialedAt.toSorted((a, b) => a - b);
    for (let i = 1; i < 5; i++) expect((sorted[i] ?? 0) - (sorted[i - 1] ?? 0)).toBeGreaterThanOrEqual(1_000);
    for (const call of calls) {
      await call.end('busy');
      await call.result();
    }
  });
});
