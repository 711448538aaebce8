import { createCallGate } from '../../src/calls/wiring.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const MIB = 1_024 * 1_024;
/** Cuneiform: as many tokens as bytes. */
const LONGEST = '𒀀'.repeat(16_384);
const TOO_LONG = /^The prompts of .* this UTC day are too long .* Shorten the instruction, .* ask the operator/;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ env: REAL_CARRIER });
}, 120_000);
afterAll(() => service.close());
beforeEach(async () => {
  customer = await service.customer();
});

/** The account's calls of this day bring so many bytes of prompts; returns the rejections. */
async function bring(bytes: number, { account }: Customer) {
  const gate = createCallGate(service);
  const call = { account, mode: 'live', callId: newCallId(), promptBytes: bytes } as const;
  return { call, refused: await gate.admitReceived(call) };
}

async function place(key: string, instruction: string) {
  const order = { to_phone_number: '+12025550140', instruction };
  const headers = { 'Idempotency-Key': `call ${newCallId()}` };
  return eventually(async () => {
    const answer = await service.place(key, order, headers);
    return answer.status !== 503 && answer;
  });
}

describe('the prompts of live calls that end at once', () => {
  it('are bounded by their bytes in a UTC day, and rejected with the remedy', async () => {
    expect((await bring(8 * MIB - 100_000, customer)).refused).toBeUndefined();
    expect((await place(customer.liveKey, LONGEST)).status).toBe(200);
    const last = await place(customer.liveKey, LONGEST);
    expect(last.status).toBe(200);
    // Held money counts like billed money.
    await bring(100 * MIB, customer);
    const before = await service.callsAskedFor();
    const refused = await place(customer.liveKey, LONGEST);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', TOO_LONG);
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(await service.callsAskedFor()).toBe(before);
    expect((await place((await service.customer()).liveKey, LONGEST)).status).toBe(200);
    expect((await place(customer.testKey, LONGEST)).status).toBe(200);
  }, 120_000);

  it('have room for 2 MiB with each USD that the account has spent in the day', async () => {
    await bring(8 * MIB, customer);
    expect((await bring(1, customer)).refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    const id = ledgerAccountId(customer.account._id, 'live');
    const hold = { ledgerAccountId: id, callId: newCallId(), window: 0, microsPerSecond: 2_500 };
    await createLedger(service.database).hold({ ...hold, maxDurationSeconds: 400, windows: [400] });
    expect(await createLedger(service.database).spentToday(id)).toBe(1_000_000);
    expect((await bring(2 * MIB, customer)).refused).toBeUndefined();
    expect((await bring(1, customer)).refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('count once for each call, received ones too, and not for rejected calls', async () => {
    const gate = createCallGate(service);
    const { call } = await bring(8 * MIB, customer);
    expect(await gate.admitReceived(call)).toBeUndefined();
    expect((await bring(1, customer)).refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await gate.withdrawReceived(call);
    await gate.withdrawReceived(call);
    expect((await bring(8 * MIB, customer)).refused).toBeUndefined();
    expect((await bring(1, customer)).refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('are not bounded for an account whose calls of a day are not', async () => {
    await service.accounts.setLimits(customer.account._id, { liveCallsPerDay: 'none' });
    const account = await service.accounts.find(customer.account._id);
    for (let n = 0; n < 3; n++) {
      expect((await bring(8 * MIB, { ...customer, account: account as Customer['account'] })).refused).toBeUndefined();
    }
  });
});
