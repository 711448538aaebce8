import { randomBytes } from 'node:crypto';
import { routes } from '../../src/api/routes.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import type { Mode } from '../../src/kernel/ids.js';
import {
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
  withoutRequestId,
} from '../support/http/harness.js';
import { listOf, managementOf } from '../support/http/management-support.js';
import { createBrowser, type Browser } from '../support/http/portal-support.js';

let service: Service;
let ask: ReturnType<typeof managementOf>;
let customer: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
});
beforeEach(async () => {
  customer = await service.customer();
});
afterAll(() => service.close());

const NEW_AGENT = { name: 'A', instruction: 'Be kind.' };
const UNKNOWN = 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

async function newAgent(key: string, fields: object = {}): Promise<string> {
  const { status, json } = await ask.post('/agents', key, { ...NEW_AGENT, ...fields });
  expect(status).toBe(200);
  return String(json['agent_id']);
}

const storedAgent = (id: string) => service.database.agents.findById(id).lean();
const idsIn = (answer: ServiceResponse) => listOf(answer).data.map((agent) => agent['agent_id']);

/**
 * Places a call to its own caller number. The call is rejected because of this number, but only after its agent has
 * been found.
 */
function callWith(mode: Mode, agentId: string): Promise<ServiceResponse> {
  const to = mode === 'test' ? '+15005550006' : service.config.carriers.live.fromNumber;
  const key = mode === 'test' ? customer.testKey : customer.liveKey;
  return service.place(key, { to_phone_number: to, agent_id: agentId });
}

const FOUND: [number, string, RegExp] = [400, 'MISSING_PARAMS', /must differ from the number that the call comes from/];

describe('a live agent', () => {
  it('is not changed or archived with a test key, and the error message names the remedy', async () => {
    const id = await newAgent(customer.liveKey, { webhook_url: 'https://example.com/hook' });
    const before = await storedAgent(id);
    for (const answer of [
      await ask.patch(`/agents/${id}`, customer.testKey, { webhook_url: 'https://attacker.example/hook' }),
      await ask.patch(`/agents/${id}`, customer.testKey, { nonsense: 1 }),
      await ask.delete(`/agents/${id}`, customer.testKey),
    ]) {
      expectError(answer, 403, 'FORBIDDEN', /live agent.*live key.*test agent/);
    }
    expect(await storedAgent(id)).toEqual(before);
    expect((await ask.patch(`/agents/${id}`, customer.liveKey, { name: 'B' })).json).toMatchObject({ mode: 'live' });
  });

  it('is protected even if it was stored before agents had modes', async () => {
    const { _id } = customer.agent;
    await service.database.agents.updateOne({ _id }, { $unset: { mode: '' } });
    expectError(await ask.patch(`/agents/${_id}`, customer.testKey, { name: 'B' }), 403, 'FORBIDDEN');
    expectError(await ask.delete(`/agents/${_id}`, customer.testKey), 403, 'FORBIDDEN');
    expect((await ask.get(`/agents/${_id}`, customer.liveKey)).json).toMatchObject({ mode: 'live' });
    expect(idsIn(await ask.get('/agents', customer.liveKey))).toContain(_id);
    expectError(await callWith('live', _id), ...FOUND);
  });

  it('can be read, listed and called with a test key, which can change its own test agents', async () => {
    const live = customer.agent._id;
    const test = await newAgent(customer.testKey);
    expect((await ask.get(`/agents/${live}`, customer.testKey)).json).toMatchObject({ mode: 'live' });
    expect((await ask.get(`/agents/${test}`, customer.testKey)).json).toMatchObject({ mode: 'test' });
    const { data } = listOf(await ask.get('/agents', customer.testKey));
    expect(data.map(({ agent_id: id, mode }) => [id, mode])).toEqual([
      [test, 'test'],
      [live, 'live'],
    ]);
    for (const id of [live, test]) expectError(await callWith('test', id), ...FOUND);
    expect((await ask.patch(`/agents/${test}`, customer.testKey, { name: 'B' })).json).toMatchObject({ name: 'B' });
    expect((await ask.delete(`/agents/${test}`, customer.testKey)).json).toHaveProperty('archived_at');
  });
});

describe('a test agent', () => {
  it('is not found by a request for a live call', async () => {
    const id = await newAgent(customer.testKey);
    const missing = await callWith('live', UNKNOWN);
    expectError(missing, 404, 'AGENT_NOT_FOUND');
    expect(withoutRequestId(await callWith('live', id))).toBe(withoutRequestId(missing));
    expectError(
      await ask.post('/calls', customer.liveKey, { to_phone_number: '+12025550100', agent_id: id }),
      404,
      'AGENT_NOT_FOUND',
    );
    const query = new URLSearchParams({ to_phone_number: '+12025550100', agent_id: id }).toString();
    expectError(await service.request(`/outbound_call?${query}`, { key: customer.liveKey }), 404, 'AGENT_NOT_FOUND');
  });

  it('is not found by a live inbound call, with an API key or the carrier’s signature', async () => {
    const id = await newAgent(customer.testKey);
    const form = {
      CallSid: `CA${randomBytes(16).toString('hex')}`,
      From: '+12025550143',
      To: '+12025550199',
      agent_id: id,
    };
    const byKey = await service.request('/inbound_call', {
      method: 'POST',
      key: customer.liveKey,
      body: new URLSearchParams(form),
    });
    expectError(byKey, 404, 'AGENT_NOT_FOUND');
    expect((await service.carrierPost('/inbound_call', form, 'live')).text).toContain('<Reject ');
    expect(await service.countCallRequests()).toBe(0);
  });

  it('cannot be the agent of a number or the inbound agent of the account', async () => {
    const number = '+12025550142';
    const test = await newAgent(customer.testKey);
    const patchNumber = (agent: string) => ask.patch(`/phone_numbers/${number}`, customer.liveKey, { agent_id: agent });
    await ask.post('/phone_numbers', customer.liveKey, { phone_number: number });
    for (const answer of [
      await patchNumber(test),
      await ask.patch('/account', customer.liveKey, { inbound_agent_id: test }),
      await ask.post('/phone_numbers', customer.liveKey, { phone_number: '+12025550147', agent_id: test }),
    ]) {
      expectError(answer, 404, 'AGENT_NOT_FOUND');
    }
    await expect(service.phoneNumbers.setAgent(number, test)).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    // The service does not use the test agent, even if the database assigns it to the live number.
    await service.database.phoneNumbers.updateOne({ _id: number }, { $set: { agentId: test } });
    await service.database.accounts.updateOne({ _id: customer.account._id }, { $set: { inboundAgentId: test } });
    const form = { CallSid: `CA${randomBytes(16).toString('hex')}`, From: '+12025550143', To: number };
    const answer = await service.carrierPost('/inbound_call', { ...form, ForwardedFrom: number }, 'live');
    expect(answer.text).toContain('<Reject ');
    await service.phoneNumbers.setAgent(number, null);
    await service.phoneNumbers.remove(customer.account._id, number);
  });

  it('cannot be read, listed, changed or archived in live mode', async () => {
    const id = await newAgent(customer.testKey);
    const before = await storedAgent(id);
    const askAll = async (agentId: string) => [
      await ask.get(`/agents/${agentId}`, customer.liveKey),
      await ask.patch(`/agents/${agentId}`, customer.liveKey, { name: 'Mine' }),
      await ask.delete(`/agents/${agentId}`, customer.liveKey),
    ];
    const missing = await askAll(UNKNOWN);
    const answers = await askAll(id);
    for (const answer of answers) expectError(answer, 404, 'AGENT_NOT_FOUND');
    expect(answers.map(withoutRequestId)).toEqual(missing.map(withoutRequestId));
    expect(await storedAgent(id)).toEqual(before);
    await ask.delete(`/agents/${id}`, customer.testKey);
    for (const query of ['', '?archived=true']) {
      expect(idsIn(await ask.get(`/agents${query}`, customer.liveKey))).not.toContain(id);
    }
    expect(idsIn(await ask.get('/agents?archived=true', customer.testKey))).toEqual([id]);
  });
});

describe('a member', () => {
  let browser: Browser;
  beforeEach(async () => {
    browser = createBrowser(service);
    await browser.signUp();
    await service.database.rateLimits.deleteMany({});
  });

  it('creates agents in the selected mode, and can change a live agent in either mode', async () => {
    const made = async (query: string) => (await browser.post(`/agents${query}`, NEW_AGENT)).json;
    const test = await made('');
    const live = await made('?mode=live');
    expect([test['mode'], live['mode']]).toEqual(['test', 'live']);
    const path = `/agents/${String(live['agent_id'])}`;
    expect((await browser.patch(path, { name: 'B' })).json).toMatchObject({ name: 'B', mode: 'live' });
    expectError(await browser.get(`/agents/${String(test['agent_id'])}?mode=live`), 404, 'AGENT_NOT_FOUND');
    expect(idsIn(await browser.get('/agents?mode=live'))).toEqual([live['agent_id']]);
    expect(idsIn(await browser.get('/agents'))).toEqual([live['agent_id'], test['agent_id']]);
    expectError(
      await browser.patch('/account', { inbound_agent_id: test['agent_id'] }),
      404,
      'AGENT_NOT_FOUND',
      /live agent/,
    );
  });
});

describe('a test key', () => {
  const accountWide = Object.entries(routes).filter(
    ([, route]: [string, Route]) => route.auth === 'keyOrSession' && route.changes === 'account',
  );

  it('is checked against operations on the account, its numbers and its webhook signing', () => {
    expect(accountWide.map(([id]) => id)).toEqual(
      expect.arrayContaining(['updateAccount', 'addPhoneNumber', 'updatePhoneNumber', 'rotateWebhookSigning']),
    );
  });

  it.each(accountWide)('gets 403 with the remedy for %s', async (_id, { method, path }) => {
    const at = path.replace(/\{\w+\}/, 'x');
    const answer = await service.request(at, { method: method.toUpperCase(), key: customer.testKey });
    expectError(answer, 403, 'FORBIDDEN', /live key/);
  });

  it('cannot change or create live API keys', async () => {
    const live = await ask.post('/api_keys', customer.liveKey, { name: 'live' });
    const path = `/api_keys/${String(live.json['key_id'])}`;
    for (const answer of [
      await ask.patch(path, customer.testKey, { name: 'x' }),
      await ask.delete(path, customer.testKey),
    ]) {
      expectError(answer, 404, 'NOT_FOUND');
    }
    const made = await ask.post('/api_keys', customer.testKey, { name: 'mine' });
    expect(made.json).toMatchObject({ mode: 'test', secret: expect.stringMatching(/^sk_test_/) });
    expectError(await ask.post('/api_keys?mode=live', customer.testKey, { name: 'x' }), 403, 'FORBIDDEN');
  });

  it('cannot prevent the removal of a number by using it in a test agent', async () => {
    const number = '+12025550148';
    await ask.post('/phone_numbers', customer.liveKey, { phone_number: number });
    await newAgent(customer.testKey, { phone_number: number });
    expect((await ask.delete(`/phone_numbers/${number}`, customer.liveKey)).status).toBe(200);
  });
});

describe('the limits of live mode', () => {
  it('are not used up by event streams with a test key', async () => {
    const [test, live] = [await ask.endedCall(customer, { mode: 'test' }), await ask.endedCall(customer)];
    // Ends the calls first, because the event streams of running calls stay open.
    await service.database.calls.updateMany({ _id: { $in: [test, live] } }, { $set: { status: 'IN_PROGRESS' } });
    const over = new AbortController();
    const watch = async (callId: string, key: string) => {
      const url = `${service.baseUrl}/calls/${callId}/events`;
      return (await fetch(url, { headers: { Authorization: `Bearer ${key}` }, signal: over.signal })).status;
    };
    try {
      for (let count = 0; count < 20; count++) expect(await watch(test, customer.testKey)).toBe(200);
      expect(await watch(test, customer.testKey)).toBe(429);
      expect(await watch(live, customer.liveKey)).toBe(200);
    } finally {
      over.abort();
    }
  });

  it('are not used up by redeliveries with a test key', async () => {
    const delivered = async (mode: Mode) => {
      const callId = await ask.endedCall(customer, { mode });
      const accountId = customer.account._id;
      const row = { _id: callId, callId, accountId, mode, url: 'http://127.0.0.1:9/hook', body: '{}' };
      await service.database.webhookDeliveries.create([{ ...row, createdAt: new Date(), state: 'delivered' }]);
      const attempt = { _id: `${callId}:1`, callId, number: 1, startedAt: new Date(), finishedAt: new Date() };
      await service.database.webhookAttempts.create([{ ...attempt, outcome: 'delivered' }]);
      return `/webhook_deliveries/${callId}/redeliver`;
    };
    const [test, live] = [await delivered('test'), await delivered('live')];
    for (let count = 0; count < 30; count++) expect((await ask.post(test, customer.testKey)).status).toBe(200);
    expectError(await ask.post(test, customer.testKey), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await ask.post(live, customer.liveKey)).status).toBe(200);
  });
});
