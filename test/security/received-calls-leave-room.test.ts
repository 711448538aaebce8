import { createCallGate } from '../../src/calls/wiring.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const MIB = 1_024 * 1_024;
const USD = 1_000_000;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ env: REAL_CARRIER });
}, 120_000);
afterAll(() => service.close());
beforeEach(async () => {
  customer = await service.customer();
});

/** Sends the requests by which the carrier announces calls, one after the other. Returns how many are accepted. */
async function receive(count: number): Promise<number> {
  let accepted = 0;
  for (let n = 0; n < count; n++) {
    const form = { CallSid: newSid('CA'), From: '+12025550100', To: '+12025550199', CallStatus: 'ringing' };
    const { text } = await service.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    accepted += Number(text.includes('<Stream'));
  }
  return accepted;
}

let lastNumber = 139;
/**
 * Places a call to a number that was not called before, because attempts per number are limited. A busy machine may
 * respond with 503, and then the request is repeated.
 */
const place = () =>
  eventually(async () => {
    const order = { to_phone_number: `+12025550${++lastNumber}`, instruction: 'Hello.' };
    const answer = await service.place(customer.liveKey, order, { 'Idempotency-Key': newCallId() });
    return answer.status !== 503 && answer;
  });

/** Counts calls and costs of the account as the service does. */
function gateOfAccount() {
  const gate = createCallGate(service);
  const { account } = customer;
  const call = () => ({ account, mode: 'live' as const, callId: newCallId() });
  return {
    receive: (promptBytes = 0) => gate.admitReceived({ ...call(), promptBytes }),
    place: (promptBytes = 0) => gate.admit({ ...call(), promptBytes, leg: 'call', to: '+12025550140' }),
    addCost: (micros: number) =>
      gate.addEngineCost({ accountId: account._id, mode: 'live', callId: newCallId(), stream: 0, micros }),
    addWaived: () => gate.countWaived({ accountId: account._id, mode: 'live', callId: newCallId() }),
  };
}

describe('calls that an account receives leave room for calls that it places', () => {
  it('8 of 10 concurrency slots', async () => {
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 10 });
    expect(await receive(10)).toBe(8);
    expect((await place()).status).toBe(200);
    expect((await place()).status).toBe(200);
    expect((await place()).status).toBe(429);
  }, 60_000);

  it('one slot of two, and the only slot', async () => {
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 2 });
    expect(await receive(3)).toBe(1);
    expect((await place()).status).toBe(200);
    customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 1 });
    expect(await receive(2)).toBe(1);
  }, 60_000);

  it('80 % of the spending of a day', async () => {
    await service.accounts.setLimits(customer.account._id, { dailySpendCapMicros: 0.9 * USD, concurrentCalls: 50 });
    expect(await receive(8)).toBe(4);
    expect((await place()).status).toBe(200);
    expect((await place()).status).toBe(200);
    expect((await place()).status).toBe(403);
  }, 60_000);

  it('80 % of the prompts of a day', async () => {
    const gate = gateOfAccount();
    let accepted = 0;
    for (let n = 0; n < 160; n++) accepted += Number((await gate.receive(65_536)) === undefined);
    // The call that reaches the limit may exceed it.
    expect(accepted).toBe(Math.ceil((0.8 * 8 * MIB) / 65_536));
    for (let n = 0; n < 20; n++) expect(await gate.place(65_536)).toBeUndefined();
    expect((await place()).status).toBe(200);
  }, 60_000);

  it('80 % of the cost of engines of a day', async () => {
    const gate = gateOfAccount();
    await gate.addCost(6.4 * USD);
    expect(await gate.receive()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(await gate.place()).toBeUndefined();
    await gate.addCost(1.6 * USD);
    expect(await gate.place()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('16 of 20 unbilled failures of an hour', async () => {
    const gate = gateOfAccount();
    for (let n = 0; n < 15; n++) await gate.addWaived();
    expect(await gate.receive()).toBeUndefined();
    await gate.addWaived();
    expect(await gate.receive()).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' });
    expect(await gate.place()).toBeUndefined();
  });
});
