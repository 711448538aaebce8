import { createUsageAgents } from '../../../src/calls/wiring.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createStatements } from '../../../src/billing/statements/statements.js';
import { placeCall, startHarness, type Harness, type TestCall } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
afterEach(() => recordHistory(harness, { 'does not delay the end of a call': 'ended-before-extension' }));

/** Places a call with the given balance and limits, and answers it. */
async function answered(options: {
  seconds?: number;
  maxDurationSeconds?: number;
  dailySpendCapMicros?: number;
}): Promise<TestCall> {
  const { call } = await placeCall(harness, options);
  await call.answer();
  await call.startStream();
  await eventually(call, 'status', 'IN_PROGRESS');
  return call;
}

/** Waits in real time until the worker has written this field; the test's clock need not move. */
async function eventually(call: TestCall, field: 'status' | 'endsAfterSeconds', value: unknown): Promise<void> {
  for (const giveUpAt = Date.now() + 10_000; ;) {
    const stored = await harness.database.calls.findById(call.callId).lean();
    if (stored?.[field] === value) return;
    if (Date.now() > giveUpAt) throw new Error(`${field} is ${String(stored?.[field])}, not ${String(value)}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function details(call: TestCall): Promise<string> {
  const run = harness.environment.client.workflow.getHandle(call.callId);
  const metadata = await run.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}

const shownEnd = async (call: TestCall) =>
  (await harness.database.calls.findById(call.callId).lean())?.endsAfterSeconds;

async function hangUp(call: TestCall, durationSeconds: number): Promise<void> {
  await call.endStream('carrier_stop');
  await call.end('completed', { durationSeconds });
  expect(await call.result()).toMatchObject({ status: 'COMPLETED', billedSeconds: durationSeconds });
  expect(await call.balance()).toMatchObject({ heldMicros: 0 });
}

describe('the forced end of a call is shown in time for a notice of 20 s', () => {
  it.each([60, 61, 100, 239])('if there is money for %i s', async (seconds) => {
    const call = await answered({ seconds });
    expect(await shownEnd(call)).toBeUndefined();
    await call.sleep(31_000);
    await eventually(call, 'endsAfterSeconds', seconds);
    await call.sleep(15_000);
    await eventually(call, 'endsAfterSeconds', seconds);
    await hangUp(call, 46);
  });

  it('from the answer on, if the duration limit is within the first window', async () => {
    const call = await answered({ maxDurationSeconds: 45 });
    expect(await shownEnd(call)).toBe(45);
    await hangUp(call, 5);
  });

  it('when the last window is held, for a later duration limit', async () => {
    const call = await answered({ maxDurationSeconds: 300 });
    await call.sleep(220_000);
    expect(await shownEnd(call)).toBeUndefined();
    await call.sleep(6_000);
    await eventually(call, 'endsAfterSeconds', 300);
    await hangUp(call, 226);
  });

  it('if the daily spending limit leaves 100 s, with the reason in the Temporal UI and the account’s entries', async () => {
    const call = await answered({ dailySpendCapMicros: 100 * 2_500 });
    await call.sleep(31_000);
    await eventually(call, 'endsAfterSeconds', 100);
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.endStream('carrier_stop');
      await call.end('completed', { durationSeconds: 100 });
    };
    const result = await call.result();
    expect(result).toMatchObject({ status: 'COMPLETED', endReason: 'balance_exhausted', billedSeconds: 100 });
    expect(await details(call)).toContain('- no more could be held: the spending limit of the account for this day');
    const money = ledgerAccountId(call.accountId, 'live');
    const { entries } = await createStatements(harness.database, createUsageAgents(harness.database)).page({
      ledgerAccountId: money,
      limit: 10,
    });
    expect(entries.find(({ type, window }) => type === 'hold' && window === 1)).toMatchObject({
      heldMicros: 40 * 2_500,
      reason: 'SPEND_LIMIT_EXCEEDED',
    });
  });

  it('if a received call has used the share of the daily limit that received calls may use', async () => {
    const { call } = await placeCall(harness, { direction: 'inbound', dailySpendCapMicros: 125 * 2_500 });
    await call.startStream();
    await eventually(call, 'status', 'IN_PROGRESS');
    await call.sleep(31_000);
    await eventually(call, 'endsAfterSeconds', 100);
    await call.sleep(15_000);
    await eventually(call, 'endsAfterSeconds', 100);
    expect(await call.balance()).toMatchObject({ heldMicros: 100 * 2_500 });
    await hangUp(call, 46);
  });

  it('and is withdrawn if money arrives before the window is held', async () => {
    const call = await answered({ seconds: 60 });
    await call.sleep(31_000);
    await eventually(call, 'endsAfterSeconds', 60);
    const amountMicros = 600 * 2_500;
    await harness.ledger.topUp({
      ledgerAccountId: ledgerAccountId(call.accountId, 'live'),
      paymentId: 'p2',
      amountMicros,
    });
    await call.sleep(15_000);
    await eventually(call, 'endsAfterSeconds', undefined);
    expect(await call.balance()).toMatchObject({ heldMicros: 240 * 2_500 });
    await hangUp(call, 46);
  });
});

describe('the balance check before a window', () => {
  it('holds nothing earlier than 15 s before the end of the previous window', async () => {
    const call = await answered({});
    await call.sleep(44_000);
    expect(await call.balance()).toMatchObject({ heldMicros: 60 * 2_500 });
    await call.sleep(2_000);
    expect(await call.balance()).toMatchObject({ heldMicros: 240 * 2_500 });
    await hangUp(call, 46);
  });

  it('does not delay the end of a call', async () => {
    const call = await answered({});
    await call.sleep(35_000);
    const before = await call.now();
    await hangUp(call, 35);
    expect((await call.closedAt()) - before).toBeLessThan(5_000);
    await call.sleep(30_000);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 35 * 2_500 });
  });
});
