import { createCallGate } from '../../src/calls/wiring.js';
import { parseConfig } from '../../src/platform/config/config.js';
import {
  eventually,
  expectError,
  startService,
  type Answer,
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

/** On a busy machine an answer may be 503; the key makes it the same call when it is asked for again. */
async function place(key: string, n: number) {
  return eventually(async () => {
    const answer = await service.place(key, order(n), { 'Idempotency-Key': `call ${n}` });
    return answer.status !== 503 && answer;
  });
}

/** As the carrier tells of a call, and told again where a busy machine takes too long. */
async function arrive({ agent }: Customer, CallSid = newSid('CA')): Promise<string> {
  const form = { CallSid, From: '+12025550143', To: '+12025550199' };
  const answer = await service.carrierPost(`/inbound_call?agent_id=${agent._id}`, form, 'test');
  expect(answer.status).toBe(200);
  return answer.text;
}

/** It makes no sense to ask again before. */
function expectToldNextDay({ headers }: Answer): void {
  const now = new Date();
  const nextDay = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  const off = Number(headers.get('retry-after')) - (nextDay - now.getTime()) / 1_000;
  expect(Math.abs(off)).toBeLessThan(30);
}

describe('the test calls of an account in a day', () => {
  it('are bounded, placed and received ones together; a repeat counts once, and live calls do not count', async () => {
    const customer = await service.customer();
    for (const n of [0, 1, 1]) expect((await place(customer.testKey, n)).status).toBe(200);
    const sid = newSid('CA');
    for (let told = 0; told < 2; told++) {
      await eventually(async () => (await arrive(customer, sid)).includes('<Stream'));
    }
    const before = await rowsOf(customer);
    const refused = await place(customer.testKey, 2);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expect(refused.json).toMatchObject({ limit: LIMIT });
    expectToldNextDay(refused);
    for (let n = 0; n < 3; n++) expect(await arrive(customer)).toContain('<Reject');
    const form = { CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199', agent_id: customer.agent._id };
    const body = new URLSearchParams(form);
    const asked = await service.request('/inbound_call', { method: 'POST', key: customer.testKey, body });
    expectError(asked, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expectToldNextDay(asked);
    expect(await rowsOf(customer)).toBe(before);
    expect((await place(customer.liveKey, 3)).status).toBe(200);
    expect((await place((await service.customer()).testKey, 4)).status).toBe(200);
  }, 120_000);

  it('are bounded in the portal, too', async () => {
    const member = createBrowser(service);
    await member.signUp();
    const ask = () => member.post('/calls', order(5));
    const statuses: number[] = [];
    while (statuses.filter((status) => status === 200).length < LIMIT && statuses.length < 20) {
      statuses.push((await ask()).status);
    }
    const refused = await ask();
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', TOO_MANY);
    expectToldNextDay(refused);
  }, 120_000);

  it('of one account leave those of every other account as they were', async () => {
    const [greedy, other] = [await service.customer(), await service.customer()];
    const { config, database } = service;
    const gate = createCallGate({ config, database });
    const admit = ({ account }: Customer) =>
      gate.admit({ account, mode: 'test', callId: newCallId(), leg: 'call', to: '+12025550142' });
    for (let n = 0; n < 10 * LIMIT; n++) await admit(greedy);
    for (let n = 0; n < LIMIT; n++) expect(await admit(other)).toBeUndefined();
    expect(await admit(other)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('leave the count when they are refused, and their transfers are not in it', async () => {
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

  it('are 2,000 unless an operator says otherwise', () => {
    expect(parseConfig({}).calls.testCallsPerDay).toBe(2_000);
    expect(parseConfig({ TEST_CALLS_PER_DAY: 'none' }).calls.testCallsPerDay).toBeUndefined();
    expect(() => parseConfig({ TEST_CALLS_PER_DAY: '10001' })).toThrow(/TEST_CALLS_PER_DAY/);
  });
});
