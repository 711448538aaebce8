import { createCallGate } from '../../src/calls/wiring.js';
import { parseConfig } from '../../src/platform/config/config.js';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { createBrowser } from '../support/http/portal-support.js';
import { newCallId } from '../support/store/test-database.js';
import { newSid } from '../support/sids.js';

const LIMIT = 3;
const TOO_MANY = /3 test calls of this UTC day.*next day, or ask the operator/;
let service: Service;
beforeAll(async () => {
  service = await startService({ env: { TEST_CALLS_PER_DAY: String(LIMIT) } });
}, 120_000);
afterAll(() => service.close());

const order = (n: number) => ({ to_phone_number: `+1202555014${n}`, instruction: 'Hello.' });
const rowsOf = ({ account }: Customer) => service.database.callRequests.countDocuments({ accountId: account._id });

/**
 * Places a call. A busy machine may respond with 503, and then the request is repeated; with the same idempotency key
 * it means the same call.
 */
async function place(key: string, n: number) {
  return eventually(async () => {
    const response = await service.place(key, order(n), { 'Idempotency-Key': `call ${n}` });
    return response.status !== 503 && response;
  });
}

/** Sends the request by which the carrier announces a call. */
async function receiveCall({ agent }: Customer, CallSid = newSid('CA')): Promise<string> {
  const form = { CallSid, From: '+12025550143', To: '+12025550199' };
  const response = await service.carrierPost(`/inbound_call?agent_id=${agent._id}`, form, 'test');
  expect(response.status).toBe(200);
  return response.text;
}

/** Expects that Retry-After ends at the start of the next day, in UTC. */
function expectRetryNextDay({ headers }: ServiceResponse): void {
  const now = new Date();
  const nextDay = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  const off = Number(headers.get('retry-after')) - (nextDay - now.getTime()) / 1_000;
  expect(Math.abs(off)).toBeLessThan(30);
}

describe('the test calls of an account in a UTC day', () => {
  it('are limited, outbound and inbound calls together; a repeat counts once, and live calls do not count', async () => {
    const customer = await service.customer();
    for (const n of [0, 1, 1]) expect((await place(customer.testKey, n)).status).toBe(200);
    const sid = newSid('CA');
    for (let attempt = 0; attempt < 2; attempt++) {
      await eventually(async () => (await receiveCall(customer, sid)).includes('<Stream'));
    }
    const before = await rowsOf(customer);
    const rejection = await place(customer.testKey, 2);
    expectError(rejection, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expect(rejection.json).toMatchObject({ limit: LIMIT });
    expectRetryNextDay(rejection);
    for (let n = 0; n < 3; n++) expect(await receiveCall(customer)).toContain('<Reject');
    const form = { CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199', agent_id: customer.agent._id };
    const body = new URLSearchParams(form);
    const forwarded = await service.request('/inbound_call', { method: 'POST', key: customer.testKey, body });
    expectError(forwarded, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expectRetryNextDay(forwarded);
    expect(await rowsOf(customer)).toBe(before);
    expect((await place(customer.liveKey, 3)).status).toBe(200);
    expect((await place((await service.customer()).testKey, 4)).status).toBe(200);
  }, 120_000);

  it('are limited in the portal too', async () => {
    const member = createBrowser(service);
    await member.signUp();
    const ask = () => member.post('/calls', order(5));
    const statuses: number[] = [];
    while (statuses.filter((status) => status === 200).length < LIMIT && statuses.length < 20) {
      statuses.push((await ask()).status);
    }
    const rejection = await ask();
    expectError(rejection, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expectRetryNextDay(rejection);
  }, 120_000);

  it('do not count for other accounts', async () => {
    const [greedy, other] = [await service.customer(), await service.customer()];
    const { config, database } = service;
    const gate = createCallGate({ config, database });
    const admit = ({ account }: Customer) =>
      gate.admit({ account, mode: 'test', callId: newCallId(), leg: 'call', to: '+12025550142' });
    for (let n = 0; n < 10 * LIMIT; n++) await admit(greedy);
    for (let n = 0; n < LIMIT; n++) expect(await admit(other)).toBeUndefined();
    expect(await admit(other)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('are not counted when they are withdrawn, and neither are their transfers', async () => {
    const { account } = await service.customer();
    const { config, database } = service;
    const gate = createCallGate({ config, database });
    const dial = (leg: 'call' | 'transfer', callId = newCallId()) =>
      ({ account, mode: 'test', callId, leg, to: '+12025550142' }) as const;
    const calls = Array.from({ length: LIMIT }, () => dial('call'));
    for (const call of calls) expect(await gate.admit(call)).toBeUndefined();
    expect(await gate.count(dial('transfer', calls[0]?.callId))).toBeUndefined();
    expect(await gate.admit(dial('call'))).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await gate.withdraw(calls[0] as (typeof calls)[number]);
    expect(await gate.admit(dial('call'))).toBeUndefined();
    expect(await gate.admit(dial('call'))).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('are limited to 2,000 unless the operator changes it', () => {
    expect(parseConfig({}).calls.testCallsPerDay).toBe(2_000);
    expect(parseConfig({ TEST_CALLS_PER_DAY: 'none' }).calls.testCallsPerDay).toBeUndefined();
    expect(() => parseConfig({ TEST_CALLS_PER_DAY: '10001' })).toThrow(/TEST_CALLS_PER_DAY/);
  });
});
