import { createCallGate } from '../../src/calls/wiring.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const MIB = 1_024 * 1_024;
/** A cuneiform text, which has as many tokens as bytes. */
const LONGEST = '𒀀'.repeat(16_384);
const TOO_LONG =
  /^The prompts of the live calls of this account have reached their size limit .* Shorten the instruction/;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ env: REAL_CARRIER });
}, 120_000);
afterAll(() => service.close());
beforeEach(async () => {
  customer = await service.customer();
});

/**
 * Adds this many bytes of prompts to the account's calls of the current day. Returns the rejection, if there is one.
 */
async function addPrompts(bytes: number, { account }: Customer) {
  const gate = createCallGate(service);
  const dial = { leg: 'call', to: '+12025550140' } as const;
  const call = { account, mode: 'live', callId: newCallId(), promptBytes: bytes, ...dial } as const;
  return { call, rejection: await gate.admit(call) };
}

/** Holds 1 USD for a call in progress. */
async function holdOneDollar({ account }: Customer) {
  const call = { ledgerAccountId: ledgerAccountId(account._id, 'live'), callId: newCallId() };
  const hold = { ...call, window: 0, microsPerSecond: 2_500, maxDurationSeconds: 400, windows: [400] };
  await createLedger(service.database).hold(hold);
  return call;
}

async function spendOneDollar(payer: Customer): Promise<void> {
  const call = await holdOneDollar(payer);
  await createLedger(service.database).settle({ ...call, billedSeconds: 400 });
}

async function place(key: string, instruction: string) {
  const order = { to_phone_number: '+12025550140', instruction };
  const headers = { 'Idempotency-Key': `call ${newCallId()}` };
  return eventually(async () => {
    const response = await service.place(key, order, headers);
    return response.status !== 503 && response;
  });
}

describe('the prompts of live calls that end at once', () => {
  it('are limited by their bytes in a UTC day, and rejected with the remedy', async () => {
    expect((await addPrompts(8 * MIB - 100_000, customer)).rejection).toBeUndefined();
    expect((await place(customer.liveKey, LONGEST)).status).toBe(200);
    const last = await place(customer.liveKey, LONGEST);
    expect(last.status).toBe(200);
    // The limit depends on the money that today's calls have been billed, and on a quarter of what they hold.
    await addPrompts(100 * MIB, customer);
    const before = await service.countCallRequests();
    const rejection = await place(customer.liveKey, LONGEST);
    expectError(rejection, 429, 'RATE_LIMIT_EXCEEDED', TOO_LONG);
    expect(Number(rejection.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(await service.countCallRequests()).toBe(before);
    expect((await place((await service.customer()).liveKey, LONGEST)).status).toBe(200);
    expect((await place(customer.testKey, LONGEST)).status).toBe(200);
  }, 120_000);

  it('may have 2 MiB more with each USD that the account has spent in the day', async () => {
    await addPrompts(8 * MIB, customer);
    expect((await addPrompts(1, customer)).rejection).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    const id = ledgerAccountId(customer.account._id, 'live');
    await spendOneDollar(customer);
    expect(await createLedger(service.database).spentToday(id)).toBe(1_000_000);
    expect((await addPrompts(2 * MIB, customer)).rejection).toBeUndefined();
    expect((await addPrompts(1, customer)).rejection).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('have only a quarter of the money that calls in progress hold, because most of a hold may be released', async () => {
    await addPrompts(8 * MIB, customer);
    await holdOneDollar(customer);
    expect((await addPrompts(MIB / 2, customer)).rejection).toBeUndefined();
    expect((await addPrompts(1, customer)).rejection).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('count once per call, including inbound calls, and not for rejected calls', async () => {
    const gate = createCallGate(service);
    const { call } = await addPrompts(8 * MIB, customer);
    expect(await gate.admit(call)).toBeUndefined();
    expect((await addPrompts(1, customer)).rejection).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    const { leg: _leg, to: _to, ...received } = { ...call, callId: newCallId() };
    expect(await gate.admitReceived(received)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await gate.withdraw(call);
    await gate.withdraw(call);
    expect((await addPrompts(8 * MIB, customer)).rejection).toBeUndefined();
    expect((await addPrompts(1, customer)).rejection).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('are not limited for an account without a daily limit of calls', async () => {
    await service.accounts.setLimits(customer.account._id, { liveCallsPerDay: 'none' });
    const account = await service.accounts.find(customer.account._id);
    for (let n = 0; n < 3; n++) {
      expect(
        (await addPrompts(8 * MIB, { ...customer, account: account as Customer['account'] })).rejection,
      ).toBeUndefined();
    }
  });
});
