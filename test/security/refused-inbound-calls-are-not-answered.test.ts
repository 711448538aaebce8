import { randomBytes, randomUUID } from 'node:crypto';
import { CARRIERS } from '../../src/telephony/carriers.js';
import { expectError, startService, type Answer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { createTestCarrierFactory } from '../support/test-carrier/carrier';
import { startTestCarrierServer } from '../support/test-carrier/server';
import { REAL_CARRIER } from './support/real-carrier.js';

/** Any other answer has Twilio answer the call, read an apology to the caller, and bill the operator. */
const REJECT = '<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="busy"/></Response>';

const NUMBER = '+12025550177';
const log: string[] = [];

let service: Service;
beforeAll(async () => {
  service = await startService({
    worker: false,
    leastTimeMs: 0,
    env: { ...REAL_CARRIER, LOG_LEVEL: 'warn' },
    onLog: (line) => void log.push(line),
  });
}, 60_000);
afterAll(() => service.close());

const formOf = (more: Record<string, string> = {}) => ({
  CallSid: newSid('CA'),
  From: '+12025550143',
  To: '+12025550199',
  ...more,
});
const arrive = (query = '', form: Record<string, string> = formOf()) =>
  service.carrierPost(`/inbound_call${query}`, form);

function expectRejected({ status, headers, text }: Answer): void {
  expect({ status, text }).toEqual({ status: 200, text: REJECT });
  expect(headers.get('content-type')).toMatch(/^text\/xml/);
}

describe('a call that the carrier brings and nobody takes is rejected unanswered', () => {
  it('when no agent is found for it', async () => {
    const { account, agent } = await service.customer();
    await service.phoneNumbers.add({ number: NUMBER, accountId: account._id });
    expectRejected(await arrive());
    expectRejected(await arrive('', formOf({ ForwardedFrom: '+12025550178' })));
    expectRejected(await arrive('', formOf({ ForwardedFrom: NUMBER })));
    expectRejected(await arrive('?agent_id=agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'));
    await service.agents.archive(account._id, agent._id);
    expectRejected(await arrive(`?agent_id=${agent._id}`));
  });

  it('when its form or query is not what we read', async () => {
    const { agent } = await service.customer();
    expectRejected(await arrive('?agent_id=Reception'));
    expectRejected(await arrive(`?agent_id=${agent._id}&agent_id=${agent._id}`));
    const { From: _from, ...anonymous } = formOf();
    expectRejected(await arrive(`?agent_id=${agent._id}`, anonymous));
    expectRejected(await arrive(`?agent_id=${agent._id}`, formOf({ CallSid: 'CA1' })));
    expectRejected(await arrive(`?agent_id=${agent._id}`, formOf({ To: 'x'.repeat(300) })));
  });

  it('when it is not decided in time', async () => {
    const { agent } = await service.customer();
    // No worker decides it.
    expectRejected(await arrive(`?agent_id=${agent._id}`));
  });

  it('when something of ours fails, which the log says without a number', async () => {
    const { account, agent } = await service.customer();
    // The stored agent is broken.
    await service.database.agents.collection.updateOne({ _id: agent._id as never }, { $set: { tools: 7 } });
    log.length = 0;
    expectRejected(await arrive(`?agent_id=${agent._id}`));
    expect(log.join('')).toContain('an inbound call could not be decided and was rejected');
    log.length = 0;
    expectRejected(await arrive('', formOf({ CallSid: 'CA1' })));
    expect(log.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        msg: 'an inbound call was rejected',
        code: 'MISSING_PARAMS',
        reason: expect.stringMatching(/^CallSid /),
      }),
    ]);
    expect(log.join('')).not.toMatch(/CA1\b|\+1202/);
    expect(await service.database.callRequests.countDocuments({ accountId: account._id })).toBe(0);
  });

  it('while forgers and owners of keys are refused by an error', async () => {
    const form = formOf();
    const body = new URLSearchParams({ ...form, AccountSid: service.config.carriers.live.carrierAccountId });
    const headers = { 'X-Twilio-Signature': `${'A'.repeat(27)}=` };
    expectError(await service.request('/inbound_call', { method: 'POST', headers, body }), 401, 'UNAUTHORIZED');
    expectError(await service.request('/inbound_call', { method: 'POST', body }), 401, 'UNAUTHORIZED');
    const { testKey } = await service.customer();
    const brought = { method: 'POST', key: testKey, body: new URLSearchParams(form) };
    expectError(await service.request('/inbound_call', brought), 400, 'MISSING_PARAMS', /No agent is resolved/);
  });
});

it('so it is by another carrier, in its own language', async () => {
  const account = { carrierAccountId: randomUUID(), authToken: randomBytes(16).toString('base64url') };
  const carrier = await startTestCarrierServer({
    accountId: account.carrierAccountId,
    secret: account.authToken,
    port: 0,
  });
  const live = { kind: 'test-carrier', ...account, baseUrl: 'http://127.0.0.1:9', fromNumber: '+12025550199' };
  const other = await startService({
    worker: false,
    carriers: { ...CARRIERS, 'test-carrier': createTestCarrierFactory(carrier.publicKey) },
    adapt: (config) => ({ ...config, carriers: { ...config.carriers, live } }),
  });
  try {
    for (const notice of [{}, { agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN' }, { call: 'none' }]) {
      const path = '/carriers/test/calls';
      const told = { call: randomUUID(), from: '+12025550143', to: '+12025550199', ...notice };
      const { headers, body } = carrier.signed(`${other.config.publicBaseUrl}${path}`, told);
      const answer = await other.request(path, { method: 'POST', headers, body });
      expect({ status: answer.status, ...answer.json }).toEqual({ status: 200, actions: [{ do: 'decline' }] });
    }
  } finally {
    await other.close();
    await carrier.close();
  }
}, 60_000);
