import { ulid } from 'ulid';
import { createCallRequests } from '../../src/calls/call-requests.js';
import type { CallRequestDocument } from '../../src/calls/call-request-model.js';
import { PHONE_NUMBER } from '../integration/workflows/harness.js';
import { ended, MONEY, startReconciling, type Reconciling } from '../integration/workflows/reconcile-harness.js';
import { newSid } from '../support/sids.js';

const HOUR_MS = 3_600_000;
const DAY_AND_MORE_MS = 26 * HOUR_MS;
const TOOL = {
  name: 'look_up',
  description: 'd'.repeat(1_000),
  method: 'GET' as const,
  url: 'https://shop.example.com/orders',
  parameters: '{"type":"object","properties":{}}',
};

let stack: Reconciling;
beforeAll(async () => {
  stack = await startReconciling();
}, 120_000);
afterAll(() => stack.stop());
beforeEach(() => {
  Object.assign(stack.carrier, { outcomes: [], record: undefined, isUnavailable: false });
  stack.carrier.hungUp.length = 0;
});

/** Stores a request as an API process leaves it if the process dies before it starts the workflow. */
async function storeAbandonedRequest(ageMs: number, more: Partial<CallRequestDocument> = {}) {
  const { accountId, money } = await stack.newAccount();
  const callId = `call_${ulid()}`;
  await createCallRequests(stack.database).insert({
    _id: callId,
    accountId,
    mode: 'live',
    direction: 'outbound',
    fromPhoneNumber: '+12025550199',
    toPhoneNumber: PHONE_NUMBER,
    agent: {
      agentId: 'agent_tmp_00000000000000000000000001',
      instruction: 'Call Ms Chen.',
      voice: 'amber',
      language: 'en-US',
      tools: [TOOL],
    },
    inputParameters: '{"customer":"Ms Chen"}',
    externalCallId: 'order-4711',
    ringTimeoutSeconds: 30,
    maxDurationSeconds: 600,
    createdAt: new Date(Date.now() - ageMs),
    ...more,
  });
  const stored = async () => JSON.stringify(await createCallRequests(stack.database).find(callId));
  return { callId, accountId, money, stored };
}

const balanceOf = (money: string) => stack.ledger.balance(money);

describe('an abandoned request', () => {
  it('keeps its number, texts and tools for a day, and no longer', async () => {
    const young = await storeAbandonedRequest(23 * HOUR_MS);
    const old = await storeAbandonedRequest(DAY_AND_MORE_MS);
    await stack.round();
    expect(await young.stored()).toContain('Ms Chen');
    const stored = await old.stored();
    for (const text of ['Ms Chen', PHONE_NUMBER, 'order-4711', 'look_up']) expect(stored).not.toContain(text);
    expect(await balanceOf(old.money)).toMatchObject({ availableMicros: MONEY, heldMicros: 0, billedMicros: 0 });
    expect(await stack.openFindings(old.money)).toEqual([]);
    // The abandoned call cannot start later, neither through a late workflow nor through the carrier.
    expect(await stack.bindings.find(old.callId)).toMatchObject({ closed: true });
    const late = { ledgerAccountId: old.money, callId: old.callId, window: 0, maxDurationSeconds: 600 };
    expect((await stack.ledger.hold({ ...late, microsPerSecond: 2_500 })).grantedSeconds).toBe(0);
    expect(await balanceOf(old.money)).toMatchObject({ availableMicros: MONEY, heldMicros: 0 });
  }, 60_000);

  it('releases its hold once, whether the check of holds or of requests finds it first', async () => {
    const { callId, money, stored } = await storeAbandonedRequest(DAY_AND_MORE_MS);
    const hold = { ledgerAccountId: money, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: 2_500 };
    await stack.ledger.hold(hold);
    expect((await balanceOf(money)).heldMicros).toBeGreaterThan(0);
    for (let n = 0; n < 2; n++) await stack.round();
    expect(await balanceOf(money)).toMatchObject({ availableMicros: MONEY, heldMicros: 0, billedMicros: 0 });
    expect((await stack.ledger.audit(money)).balanced).toBe(true);
    expect(await stored()).not.toContain('Ms Chen');
  }, 60_000);

  it('of an inbound call is kept until the carrier reports the call', async () => {
    const carrierSid = newSid('CA');
    const { money, stored } = await storeAbandonedRequest(DAY_AND_MORE_MS, { direction: 'inbound', carrierSid });
    stack.carrier.isUnavailable = true;
    await stack.round();
    expect(await stored()).toContain('Ms Chen');
    Object.assign(stack.carrier, { isUnavailable: false, record: ended(carrierSid, { status: 'no-answer' }) });
    await stack.round();
    expect(await stored()).not.toContain('Ms Chen');
    expect(await balanceOf(money)).toMatchObject({ availableMicros: MONEY, heldMicros: 0 });
  }, 60_000);

  it('does not include stored calls, however old they are', async () => {
    const { callId } = await stack.completedCall();
    const at = new Date(Date.now() - DAY_AND_MORE_MS);
    await stack.database.callRequests.updateOne({ _id: callId }, { $set: { createdAt: at } });
    await stack.round();
    expect((await createCallRequests(stack.database).find(callId))?.toPhoneNumber).toBe(PHONE_NUMBER);
  }, 60_000);

  it('is found with an index', async () => {
    const indexes = await stack.database.callRequests.collection.indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { createdAt: 1, _id: 1 } }));
  });
});
