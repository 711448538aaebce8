import { createLedger } from '../../src/billing/ledger/ledger.js';
import { createCallGate } from '../../src/calls/wiring.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../src/platform/mongo/period-counts.js';
import { driverCollection } from '../../src/platform/mongo/driver-collection.js';
import { observe } from '../../src/platform/telemetry/measurements.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const LIMIT = 2;
const REJECT = '<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="busy"/></Response>';

const log: string[] = [];
let service: Service;
beforeAll(async () => {
  service = await startService({
    env: { ...REAL_CARRIER, LIVE_CALLS_PER_DAY: String(LIMIT), LOG_LEVEL: 'warn' },
    onLog: (line) => void log.push(line),
  });
}, 120_000);
afterAll(() => service.close());

/** Sends the request by which the carrier announces a call. */
async function receiveCall(
  { agent }: Customer,
  CallSid = newSid('CA'),
  mode: 'live' | 'test' = 'live',
): Promise<string> {
  const form = { CallSid, From: '+12025550143', To: '+12025550199' };
  const response = await service.carrierPost(`/inbound_call?agent_id=${agent._id}`, form, mode);
  expect(response.status).toBe(200);
  return response.text.includes('<Stream') ? 'streamed' : response.text;
}

/**
 * Expects that a call is accepted. A rejected call is repeated, because a decision may take too long on a busy machine.
 * A limit would reject every repeat.
 */
async function expectStreamed(customer: Customer, CallSid = newSid('CA'), mode: 'live' | 'test' = 'live') {
  await eventually(async () => (await receiveCall(customer, CallSid, mode)) === 'streamed');
}

async function frozenCustomer(): Promise<Customer> {
  const customer = await service.customer();
  await createLedger(service.database).freeze(ledgerAccountId(customer.account._id, 'live'), 'a test');
  return customer;
}

const rowsOf = ({ account }: Customer) => service.database.callRequests.countDocuments({ accountId: account._id });

describe('a live inbound call on a real carrier', () => {
  it('is accepted up to the account’s daily limit, and then rejected unanswered', async () => {
    const customer = await service.customer();
    const first = newSid('CA');
    for (const sid of [first, first, newSid('CA')]) await expectStreamed(customer, sid);
    for (let n = 0; n < 3; n++) expect(await receiveCall(customer)).toBe(REJECT);
    expect(await rowsOf(customer)).toBe(LIMIT);
    // A repeat of an accepted call is accepted again. The limit does not count calls of test mode or of other accounts.
    await expectStreamed(customer, first);
    await expectStreamed(customer, newSid('CA'), 'test');
    await expectStreamed(await service.customer());
    await service.accounts.setLimits(customer.account._id, { liveCallsPerDay: 'none' });
    await expectStreamed(customer);
  }, 120_000);

  it('does not count towards the calls that the account may place', async () => {
    const customer = await service.customer();
    for (let n = 0; n < LIMIT; n++) await expectStreamed(customer);
    const order = { to_phone_number: '+12025550144', instruction: 'Hello.' };
    const headers = { 'Idempotency-Key': 'the one' };
    const placed = await eventually(async () => {
      const response = await service.place(customer.liveKey, order, headers);
      return response.status !== 503 && response;
    });
    expect(placed.status).toBe(200);
  }, 120_000);

  it('is rejected after 20 unbilled calls within an hour', async () => {
    const customer = await service.customer();
    const gate = createCallGate({ config: service.config, database: service.database });
    const accountId = customer.account._id;
    for (let n = 0; n < 20; n++) await gate.countWaived({ accountId, mode: 'live', callId: newCallId() });
    expect(await receiveCall(customer)).toBe(REJECT);
    expect(await rowsOf(customer)).toBe(0);
  });

  it('is also rejected unanswered without a balance or a concurrency slot, or if the account is frozen', async () => {
    const poor = await service.customer(0);
    expect(await receiveCall(poor)).toBe(REJECT);
    const full = await service.customer();
    await service.accounts.setLimits(full.account._id, { concurrentCalls: 0 });
    expect(await receiveCall(full)).toBe(REJECT);
    const documents = driverCollection<PeriodCountDocument>(service.database, service.database.destinationCounts);
    const counts = createPeriodCounts(documents, () => new Date());
    expect(await receiveCall(await frozenCustomer())).toBe(REJECT);
    const place = { _id: `${full.account._id}~live~received~day`, period: 'day' as const, limit: 1 };
    expect(await counts.hasRoom({ ...place, member: newCallId() })).toBe(true);
  });

  it('is no failure of the service if the account is frozen', async () => {
    const customer = await frozenCustomer();
    const sid = newSid('CA');
    const causes: string[] = [];
    const forget = observe('inboundRejected', ({ mode, cause }) => void causes.push(`${mode} ${cause}`));
    // A decision may take too long on a busy machine.
    await eventually(async () => {
      log.length = 0;
      expect(await receiveCall(customer, sid)).toBe(REJECT);
      return causes.at(-1) === 'live frozen';
    });
    const lines = log.map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string });
    expect(lines).toMatchObject([
      { level: 40, msg: 'inbound call rejected', reason: expect.stringContaining('The account is frozen') },
    ]);
    // The carrier repeats a request, and gets the stored rejection.
    causes.length = 0;
    expect(await receiveCall(customer, sid)).toBe(REJECT);
    expect(causes).toEqual(['live frozen']);
    forget();
  });
});
