import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createApiKeys } from '../../src/identity/api-keys/api-keys.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { placeCall } from '../support/placed-call.js';
import { launch, type Launched } from '../support/dev-stack.js';

jest.setTimeout(300_000);

const PEPPER = 'a-pepper-for-tests-a-pepper-for-tests';
const CALLS_PER_SECOND = 2;
const FINAL_WITHIN_MS = 90_000;

/** This callee answers and talks without end. */
const TALKER = '+12025550108';
/** This callee answers and hangs up at once. */
const HANGS_UP = '+12025550106';

describe('hold windows of 3 and 4 s and a carrier with two calls per second', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;

  beforeAll(async () => {
    const env = { HOLD_WINDOWS: '3,4', CARRIER_CALLS_PER_SECOND: String(CALLS_PER_SECOND), API_KEY_PEPPER: PEPPER };
    stack = await launch({ env: { ...env, LOG_LEVEL: 'warn' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
  });
  afterAll(async () => {
    await database?.close();
    await stack?.destroy();
  });

  async function customer(seconds: number) {
    const account = await createAccounts(database).create({ name: 'Test', plan: 'growth' });
    const ledgerId = ledgerAccountId(account._id, 'live');
    const amountMicros = seconds * 2_500;
    await createLedger(database).topUp({ ledgerAccountId: ledgerId, paymentId: randomUUID(), amountMicros });
    const keys = createApiKeys({ database, pepper: PEPPER });
    const { secret } = await keys.create({ accountId: account._id, mode: 'live', name: 'test' });
    return { ledgerId, key: secret };
  }

  const place = (key: string, to: string) =>
    placeCall(runtime.base_url, key, { to_phone_number: to, instruction: 'Hello, how are you?' });

  async function statusOf(key: string, callId: string): Promise<{ status: string; message: string }> {
    const response = await fetch(`${runtime.base_url}/outbound_call?call_id=${callId}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return (await response.json()) as { status: string; message: string };
  }

  async function ended(callId: string): Promise<CallDocument> {
    for (const giveUpAt = Date.now() + FINAL_WITHIN_MS; ;) {
      const call = await database.calls.findById(callId).lean<CallDocument>();
      if (call?.endReason !== undefined) return call;
      if (Date.now() > giveUpAt) throw new Error(`${callId} is ${call?.status}, not over.`);
      await sleep(200);
    }
  }

  it.each([3, 5, 7])('bill exactly the balance of %i s while the callee keeps talking', async (seconds) => {
    const { key, ledgerId } = await customer(seconds);
    const placed = await place(key, TALKER);
    expect(placed).toMatchObject({ httpStatus: 200, status: 'RINGING' });
    const call = await ended(placed.call_id);
    expect(call).toMatchObject({
      status: 'COMPLETED',
      endReason: 'balance_exhausted',
      durationSeconds: seconds,
      costMicros: seconds * 2_500,
    });
    const ledger = createLedger(database);
    expect(await ledger.balance(ledgerId)).toEqual({
      availableMicros: 0,
      heldMicros: 0,
      creditedMicros: seconds * 2_500,
      billedMicros: seconds * 2_500,
    });
    expect(await ledger.audit(ledgerId)).toMatchObject({ balanced: true });
  });

  it('reject a call with 402 if the balance is below the first window', async () => {
    const { key } = await customer(2);
    expect(await place(key, TALKER)).toMatchObject({ httpStatus: 402 });
  });

  it('leave further calls IDLE, and serve an account with one call before one with twelve', async () => {
    const [many, one] = [await customer(600), await customer(600)];
    const crowd = await Promise.all(Array.from({ length: 12 }, () => place(many.key, HANGS_UP)));
    const alone = await place(one.key, HANGS_UP);
    const calls = [...crowd.map(({ call_id }) => call_id), alone.call_id];
    expect([...crowd, alone].map(({ httpStatus, status }) => `${httpStatus} ${status}`)).toEqual(
      Array(13).fill('200 RINGING'),
    );
    const reads = await Promise.all(crowd.map(({ call_id }) => statusOf(many.key, call_id)));
    const idle = reads.filter(({ status }) => status === 'IDLE');
    expect(idle.length).toBeGreaterThan(0);
    expect(idle[0]?.message).toBe('The call is waiting for a dial slot.');

    const finals = await Promise.all(calls.map(ended));
    for (const call of finals) expect(call).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup' });
    const response = await fetch(`${runtime.carrier_url}/simulator/calls`);
    const carried = ((await response.json()) as { calls: { sid: string; created_at: string }[] }).calls;
    const dialedAt = new Map(carried.map(({ sid, created_at }) => [sid, Date.parse(created_at)]));
    const times = finals.map(({ carrierSid = '' }) => dialedAt.get(carrierSid) ?? Number.NaN);
    const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
    expect(most).toBeLessThanOrEqual(CALLS_PER_SECOND);
    const afterTheOne = times.slice(0, -1).filter((at) => at > (times.at(-1) ?? 0));
    expect(afterTheOne.length).toBeGreaterThanOrEqual(3);
  });
});
