import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createLeases } from '../../../src/billing/leases.js';
import { PHONE_NUMBER, startReceiver } from './harness.js';
import { ended, byKey, MONEY, startReconciling, until, type Reconciling } from './reconcile-harness.js';
import { newSid } from '../../support/sids.js';
import { callRequest } from '../../support/store/call-request.js';

const HOUR_MS = 3_600_000;

let stack: Reconciling;

beforeAll(async () => {
  stack = await startReconciling();
}, 120_000);
afterAll(() => stack.stop());
beforeEach(() => {
  Object.assign(stack.carrier, { outcomes: [], record: undefined, isUnavailable: false });
  stack.carrier.hungUp.length = 0;
});

describe('reconciliation of a hold without an ending', () => {
  /** Creates a hold of 60 s, five hours ago, for a call that has no workflow. */
  async function orphan(options: { carrierSid?: string } = {}) {
    const { accountId, money } = await stack.newAccount();
    const callId = `call_${ulid()}`;
    const at = new Date(Date.now() - 5 * HOUR_MS);
    await createCallRequests(stack.database).insert(
      callRequest({
        _id: callId,
        accountId,
        toPhoneNumber: PHONE_NUMBER,
        agentId: 'agent_tmp_00000000000000000000000001',
        createdAt: at,
      }),
    );
    await stack.ledger.hold({
      ledgerAccountId: money,
      callId,
      window: 0,
      maxDurationSeconds: 600,
      microsPerSecond: 2_500,
    });
    await stack.ledger.sweep(money);
    await stack.entries.updateOne(byKey(`H${callId}~0`), { $set: { at } });
    if (options.carrierSid) await stack.bindings.bind(callId, options.carrierSid, stack.carrier);
    return { callId, money };
  }

  it.each(['x\\..\\..\\Keys', 'CA1'])('voids it if the stored carrier id is invalid: %s', async (carrierSid) => {
    const { callId, money } = await orphan();
    const byId = { _id: callId as never };
    await stack.database.callRequests.collection.updateOne(byId, { $set: { carrierSid, direction: 'inbound' } });
    await stack.database.carrierBindings.collection.insertOne({ ...byId, carrierSid, boundAt: new Date() });
    stack.carrier.isUnavailable = true;
    expect((await stack.round()).endedCalls).toBe(1);
    expect(await stack.ledger.balance(money)).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    expect(stack.carrier.hungUp).toEqual([]);
  });

  it('voids it if no call was placed, and blocks a late one', async () => {
    const { callId, money } = await orphan();
    expect((await stack.round()).endedCalls).toBe(1);
    expect(await stack.ledger.balance(money)).toMatchObject({
      heldMicros: 0,
      billedMicros: 0,
      availableMicros: MONEY,
    });
    expect(await stack.bindings.find(callId)).toMatchObject({ closed: true });
    expect(await stack.round()).toMatchObject({ endedCalls: 0, newFindings: 0 });
    expect(await stack.ledger.frozen(money)).toBeNull();
  });

  it('reports it while the carrier is unavailable, without a freeze, and settles it by the carrier’s record later', async () => {
    const sid = newSid('CA');
    const { callId, money } = await orphan({ carrierSid: sid });
    stack.carrier.isUnavailable = true;
    await stack.round();
    stack.carrier.isUnavailable = false;
    expect((await stack.openFindings(money)).map(({ kind }) => kind)).toEqual(['hold_overdue']);
    expect(await stack.ledger.frozen(money)).toBeNull();
    expect(await stack.ledger.balance(money)).toMatchObject({ heldMicros: 150_000 });

    stack.carrier.record = ended(sid, { status: 'busy' });
    await stack.round();
    expect(await stack.ledger.balance(money)).toMatchObject({ heldMicros: 0, billedMicros: 0 });
    expect(await stack.openFindings(money)).toEqual([]);
    expect(await stack.findings.find(`hold_overdue:${callId}`)).toMatchObject({
      resolvedBy: 'reconciler',
    });
  });
});

describe('reconciliation of a terminated workflow', () => {
  it('hangs up, bills the carrier’s seconds, releases the slot, ends as COMPLETED and sends the webhook', async () => {
    const receiver = await startReceiver();
    const call = await stack.ringingCall({ webhookUrl: receiver.url });
    await call.reportAnswer();
    await call.terminate();
    stack.carrier.record = { carrierSid: call.sid, status: 'in-progress' };
    expect((await stack.round()).releasedLeases).toBe(1);
    expect(stack.carrier.hungUp).toContain(call.sid);
    expect(await call.stored()).toMatchObject({ status: 'IN_PROGRESS' });

    stack.carrier.record = ended(call.sid, { durationSeconds: 9 });
    expect((await stack.round()).endedCalls).toBe(1);
    const final = { status: 'COMPLETED', endReason: 'internal_error', durationSeconds: 9, costMicros: 22_500 };
    expect(await call.stored()).toMatchObject(final);
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 22_500 });
    await until(async () => receiver.bodies.length === 1);
    expect(JSON.parse(receiver.bodies[0] ?? '')).toMatchObject({ call_id: call.callId, duration_seconds: 9 });

    expect(await stack.round()).toMatchObject({ endedCalls: 0, releasedLeases: 0, newFindings: 0 });
    expect(await call.stored()).toMatchObject(final);
    expect(await stack.openFindings(call.money)).toEqual([]);
    expect(await stack.ledger.frozen(call.money)).toBeNull();
    expect(receiver.bodies).toHaveLength(1);
    await receiver.close();
  });

  it('bills no more than was held', async () => {
    const call = await stack.ringingCall();
    await call.reportAnswer();
    await call.terminate();
    stack.carrier.record = ended(call.sid, { durationSeconds: 75 });
    await stack.round();
    expect(await call.stored()).toMatchObject({ status: 'COMPLETED', durationSeconds: 60, costMicros: 150_000 });
    await stack.round();
    expect(await stack.openFindings(call.money)).toEqual([]);
  });

  it('ends as FAILED / internal_error, unbilled, if the call was not answered', async () => {
    const call = await stack.ringingCall();
    await call.terminate();
    stack.carrier.record = ended(call.sid, { status: 'no-answer' });
    await stack.round();
    expect(await call.stored()).toMatchObject({
      status: 'FAILED',
      endReason: 'internal_error',
      durationSeconds: 0,
      costMicros: 0,
    });
    expect(await call.balance()).toMatchObject({ heldMicros: 0, billedMicros: 0 });
  });
});

describe('reconciliation of leases', () => {
  it('releases a slot without a workflow, and one held longer than its call can last', async () => {
    const leases = createLeases(stack.database);
    const { accountId } = await stack.newAccount();
    const callId = `call_${ulid()}`;
    await leases.acquire({ accountId, mode: 'live', callId, limit: 1 });
    const long = await stack.ringingCall();
    const old = new Date(Date.now() - 2 * HOUR_MS);
    await stack.database.leases.collection.updateOne(byKey(`${long.accountId}~live`), {
      $set: { [`leases.${long.callId}.acquiredAt`]: old },
    });
    const young = await stack.ringingCall();
    expect((await stack.round()).releasedLeases).toBe(2);
    const other = { callId: `call_${ulid()}`, limit: 1, mode: 'live' as const };
    expect(await leases.acquire({ ...other, accountId })).toEqual({ granted: true });
    expect(await leases.acquire({ ...other, accountId: long.accountId })).toEqual({ granted: true });
    expect(await leases.acquire({ ...other, accountId: young.accountId })).toMatchObject({ granted: false });
    for (const call of [long, young]) await call.hangUp(0);
    await Promise.all([long.result(), young.result()]);
  });
});

describe('reconciliation of an estimated bill', () => {
  async function estimatedCall(input: Parameters<typeof stack.ringingCall>[0] = {}) {
    const call = await stack.ringingCall(input);
    await call.reportAnswer();
    await sleep(1_200);
    await call.hangUp();
    await call.result();
    const { billedMicros } = await call.balance();
    expect(billedMicros).toBeGreaterThanOrEqual(2 * (input.microsPerSecond ?? 2_500));
    return { ...call, billedMicros };
  }

  it('returns what the carrier did not count, once, as an entry with a reason, and keeps the settlement', async () => {
    const call = await estimatedCall();
    stack.carrier.record = ended(call.sid, {});
    delete stack.carrier.record.durationSeconds;
    expect((await stack.round()).correctedBills).toBe(0);
    stack.carrier.record = ended(call.sid, { durationSeconds: 1 });
    expect((await stack.round()).correctedBills).toBe(1);
    expect(await call.balance()).toMatchObject({ billedMicros: 2_500, availableMicros: MONEY - 2_500 });
    expect((await stack.round()).correctedBills).toBe(0);
    await stack.ledger.sweep(call.money);
    const correction = await stack.entries.findOne(byKey(`C${call.callId}~1`));
    expect(correction).toMatchObject({ type: 'correction', amountMicros: call.billedMicros - 2_500 });
    expect(correction?.['reason']).toMatch(/carrier/);
    const settlement = await stack.entries.findOne(byKey(`S${call.callId}`));
    expect(settlement).toMatchObject({ billedMicros: call.billedMicros, estimated: true });
    expect(await call.stored()).toMatchObject({ costMicros: call.billedMicros });
    expect(await stack.openFindings(call.money)).toEqual([]);
  });

  it('returns money at the rate of the call', async () => {
    const rate = 833;
    const call = await estimatedCall({ microsPerSecond: rate });
    stack.carrier.record = ended(call.sid, { durationSeconds: 1 });
    expect((await stack.round()).correctedBills).toBe(1);
    expect(await call.balance()).toMatchObject({ billedMicros: rate, availableMicros: 36_000 * rate - rate });
    await stack.ledger.sweep(call.money);
    expect(await stack.entries.findOne(byKey(`C${call.callId}~1`))).toMatchObject({
      amountMicros: call.billedMicros - rate,
      creditedSeconds: call.billedMicros / rate - 1,
    });
    expect(await stack.openFindings(call.money)).toEqual([]);
  });

  it('writes off what the carrier counted beyond the estimate', async () => {
    const call = await estimatedCall();
    stack.carrier.record = ended(call.sid, { durationSeconds: 30 });
    expect((await stack.round()).correctedBills).toBe(0);
    expect(await call.balance()).toMatchObject({ billedMicros: call.billedMicros });
    expect(await stack.database.reconciliationChecks.findById(`estimate:${call.callId}`)).toBeNull();
  });
});
