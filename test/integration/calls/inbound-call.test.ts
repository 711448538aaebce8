import { createInboundAgents } from '../../../src/agents/inbound-agent.js';
import { createClosedWorkflows } from '../../../src/calls/erasure/closed-workflows.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { readRunState } from '../../../src/calls/runs.js';
import { withTemporalClient } from '../../../src/platform/temporal/with-client.js';
import { DELETED_WITHIN_MS } from '../../support/deleted-workflows.js';
import {
  eventually,
  expectError,
  startService,
  STREAM_URL,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../../support/http/harness.js';
import { newSid } from '../../support/sids.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const formOf = (fields: Record<string, string> = {}) => ({
  CallSid: newSid('CA'),
  From: '+12025550143',
  To: '+12025550199',
  ...fields,
});

function post(key: string | undefined, form: Record<string, string>, query = ''): Promise<ServiceResponse> {
  const auth = key === undefined ? {} : { key };
  return service.request(`/inbound_call${query}`, { method: 'POST', ...auth, body: new URLSearchParams(form) });
}

/** Returns the call_id from a response, which must consist of exactly the expected XML. */
function callIdOf(answer: ServiceResponse): string {
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/xml/);
  const [, callId = ''] = /\/(call_[0-9A-HJKMNP-TV-Z]{26})"/.exec(answer.text) ?? [];
  expect(answer.text).toBe(
    `<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="${STREAM_URL}/${callId}"/></Connect>` +
      `<Redirect method="POST">https://calls.test/carrier/calls/${callId}/after-stream</Redirect></Response>`,
  );
  return callId;
}

const requestOf = (callId: string) => service.database.callRequests.findById(callId).lean();

describe('POST /inbound_call', () => {
  it('responds with XML that streams the audio to {stream_url}/<call_id>, and binds the CallSid', async () => {
    const form = formOf({ agent_id: customer.agent._id, external_call_id: 'ticket-9' });
    const callId = callIdOf(await post(customer.liveKey, form));
    expect(await requestOf(callId)).toMatchObject({
      accountId: customer.account._id,
      mode: 'live',
      direction: 'inbound',
      fromPhoneNumber: form.From,
      toPhoneNumber: form.To,
      carrierSid: form.CallSid,
      externalCallId: 'ticket-9',
      agent: { agentId: customer.agent._id },
    });
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ carrierSid: form.CallSid });
    expect((await service.place(customer.liveKey, { call_id: callId })).json['status']).toBe('RINGING');
  });

  it('escapes the stream URL in the attribute', async () => {
    const other = await startService({ env: { STREAM_URL: 'wss://stream.test/a?b="1"&c=<2>' } });
    try {
      const owner = await other.customer();
      const answer = await other.request('/inbound_call', {
        method: 'POST',
        key: owner.liveKey,
        body: new URLSearchParams(formOf({ agent_id: owner.agent._id })),
      });
      expect(answer.text).toContain('<Stream url="wss://stream.test/a?b=&quot;1&quot;&amp;c=&lt;2>/call_');
    } finally {
      await other.close();
    }
  });

  it('returns the same XML for a repeated webhook and starts no second call', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    const before = await service.countCallRequests();
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(customer.liveKey, form)));
    expect(new Set(answers.map(callIdOf)).size).toBe(1);
    expect((await post(customer.liveKey, form)).text).toBe(answers[0]?.text);
    expect(await service.countCallRequests()).toBe(before + 1);
  });

  it('starts no second call if the call was deleted after its retention, and Temporal has forgotten it', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    const first = await post(customer.liveKey, form);
    const callId = callIdOf(first);
    const { calls, callRequests } = service.database;
    await withTemporalClient(service.config, ({ workflow }) => workflow.getHandle(callId).terminate());
    await calls.updateOne({ _id: callId }, { $set: { status: 'COMPLETED' } });
    await createCallProjection(service.database).expire(callId);
    await callRequests.deleteOne({ _id: callId });
    await withTemporalClient(service.config, (client) =>
      createClosedWorkflows(client).removeOf({ callId, redeliveries: 0 }),
    );
    const isGone = () =>
      withTemporalClient(service.config, async (client) => (await readRunState(client, callId)) === 'gone');
    await eventually(isGone, DELETED_WITHIN_MS);
    expect((await post(customer.liveKey, form)).text).toBe(first.text);
    expect(await callRequests.exists({ _id: callId })).toBeNull();
    expect(await withTemporalClient(service.config, (client) => readRunState(client, callId))).toBe('gone');
  }, 180_000);

  it('starts another call for another CallSid, and rejects a CallSid that belongs to the other mode', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    const callId = callIdOf(await post(customer.liveKey, form));
    expect(callIdOf(await post(customer.liveKey, { ...form, CallSid: newSid('CA') }))).not.toBe(callId);
    // One call at the carrier cannot become two calls of the service, so the second request is rejected.
    expectError(await post(customer.testKey, form), 400, 'MISSING_PARAMS', /CallSid/);
  });

  it.each(['CallSid', 'From', 'To'])(
    'rejects a missing or empty %s with 400 MISSING_PARAMS and names it',
    async (name) => {
      const { [name]: _omitted, ...without } = formOf({ agent_id: customer.agent._id }) as Record<string, string>;
      expectError(await post(customer.liveKey, without), 400, 'MISSING_PARAMS', new RegExp(name));
      expectError(await post(customer.liveKey, { ...without, [name]: '' }), 400, 'MISSING_PARAMS', new RegExp(name));
    },
  );

  it.each(['anonymous', 'sip:someone@example.com', '+266696687'])('accepts %s as From', async (from) => {
    const callId = callIdOf(await post(customer.liveKey, formOf({ From: from, agent_id: customer.agent._id })));
    expect((await requestOf(callId))?.fromPhoneNumber).toBe(from);
  });

  it('rejects a body that is not a form with 400 MISSING_PARAMS', async () => {
    const answer = await service.request('/inbound_call', {
      method: 'POST',
      key: customer.liveKey,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(formOf({ agent_id: customer.agent._id })),
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it('responds with 402 INSUFFICIENT_BALANCE and 429 CONCURRENCY_LIMIT_EXCEEDED as /outbound_call does', async () => {
    const poorCustomer = await service.customer(0);
    expectError(
      await post(poorCustomer.liveKey, formOf({ agent_id: poorCustomer.agent._id })),
      402,
      'INSUFFICIENT_BALANCE',
    );
    const busy = await service.customer();
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 0 });
    expectError(await post(busy.liveKey, formOf({ agent_id: busy.agent._id })), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });

  it('uses the webhook_url of the agent for the completion webhook', async () => {
    const agent = await service.agents.create({
      accountId: customer.account._id,
      name: 'Hooked',
      instruction: 'Hello.',
      voice: 'amber',
      language: 'en-US',
      webhookUrl: 'https://example.com/inbound',
    });
    const callId = callIdOf(await post(customer.liveKey, formOf({ agent_id: agent._id })));
    expect((await requestOf(callId))?.webhookUrl).toBe('https://example.com/inbound');
  });
});

describe('agent resolution', () => {
  let second: string;
  beforeAll(async () => {
    const { _id } = await service.agents.create({
      accountId: customer.account._id,
      name: 'Second',
      instruction: 'Hello.',
      voice: 'amber',
      language: 'en-US',
    });
    second = _id;
  });
  const agentOf = async (answer: ServiceResponse) => (await requestOf(callIdOf(answer)))?.agent.agentId;
  const unknown = 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

  it('1: prefers agent_id in the query to agent_id in the form', async () => {
    const answer = await post(customer.liveKey, formOf({ agent_id: customer.agent._id }), `?agent_id=${second}`);
    expect(await agentOf(answer)).toBe(second);
  });

  it('2: prefers agent_id in the form to ForwardedFrom', async () => {
    const owner = await service.customer();
    await service.phoneNumbers.add({ number: '+12025550150', accountId: owner.account._id, agentId: owner.agent._id });
    const form = formOf({ agent_id: customer.agent._id, ForwardedFrom: '+12025550150' });
    expect(await agentOf(await post(customer.liveKey, form))).toBe(customer.agent._id);
  });

  it('responds with 404 AGENT_NOT_FOUND to an unknown agent_id and does not try the next rule', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    expectError(await post(customer.liveKey, form, `?agent_id=${unknown}`), 404, 'AGENT_NOT_FOUND');
    expectError(await post(customer.liveKey, formOf({ agent_id: unknown })), 404, 'AGENT_NOT_FOUND');
    const other = await service.customer();
    expectError(await post(other.liveKey, form), 404, 'AGENT_NOT_FOUND');
  });

  it('treats an empty agent_id as absent', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    expect(await agentOf(await post(customer.liveKey, form, '?agent_id='))).toBe(customer.agent._id);
  });

  it('3: uses the inbound agent of the account that owns the ForwardedFrom number', async () => {
    const owner = await service.customer();
    await service.phoneNumbers.add({ number: '+12025550151', accountId: owner.account._id });
    const form = formOf({ ForwardedFrom: '+12025550151' });
    expectError(await post(owner.liveKey, form), 400, 'MISSING_PARAMS', /agent/);
    await createInboundAgents(service.database).set(owner.account._id, owner.agent._id);
    expect(await agentOf(await post(owner.liveKey, form))).toBe(owner.agent._id);
  });

  it('prefers the agent of the number to the inbound agent of the account', async () => {
    const owner = await service.customer();
    const { _id } = await service.agents.create({
      accountId: owner.account._id,
      name: 'For the number',
      instruction: 'Hello.',
      voice: 'amber',
      language: 'en-US',
    });
    await createInboundAgents(service.database).set(owner.account._id, owner.agent._id);
    await service.phoneNumbers.add({ number: '+12025550152', accountId: owner.account._id, agentId: _id });
    expect(await agentOf(await post(owner.liveKey, formOf({ ForwardedFrom: '+12025550152' })))).toBe(_id);
  });

  it("considers only the key's account with a key, and the number's owner with the carrier's signature", async () => {
    const owner = await service.customer();
    await service.phoneNumbers.add({ number: '+12025550153', accountId: owner.account._id });
    await createInboundAgents(service.database).set(owner.account._id, owner.agent._id);
    const form = formOf({ ForwardedFrom: '+12025550153' });
    expectError(await post(customer.liveKey, form), 400, 'MISSING_PARAMS');
    const signed = await service.carrierPost('/inbound_call', form);
    expect((await requestOf(callIdOf(signed)))?.accountId).toBe(owner.account._id);
  });

  it('responds with 400 MISSING_PARAMS if no rule finds an agent', async () => {
    expectError(await post(customer.liveKey, formOf()), 400, 'MISSING_PARAMS', /agent/);
    expectError(await post(customer.liveKey, formOf({ ForwardedFrom: '+12025550159' })), 400, 'MISSING_PARAMS');
    expectError(await post(customer.liveKey, formOf({ ForwardedFrom: 'anonymous' })), 400, 'MISSING_PARAMS');
  });
});

describe('authorization of inbound calls', () => {
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  const withHeaders = (headers: Record<string, string>) =>
    service.request('/inbound_call', {
      method: 'POST',
      headers,
      body: new URLSearchParams(formOf({ agent_id: customer.agent._id })),
    });

  it('rejects a request without key and signature with 401 that offers both Bearer and Basic', async () => {
    const answer = await withHeaders({});
    expectError(answer, 401, 'UNAUTHORIZED');
    expect(answer.headers.get('www-authenticate')).toMatch(/Bearer realm="\w+".*Basic realm="\w+"/);
  });

  it('accepts the key as the password of Basic with any user name', async () => {
    callIdOf(await withHeaders(basic(`bearer:${customer.liveKey}`)));
    callIdOf(await withHeaders(basic(`:${customer.testKey}`)));
    expectError(await withHeaders(basic(`${customer.liveKey}:`)), 401, 'UNAUTHORIZED');
    expectError(await withHeaders(basic('nonsense')), 401, 'UNAUTHORIZED');
    expectError(await withHeaders({ Authorization: 'Basic !!!' }), 401, 'UNAUTHORIZED');
  });

  it.each(['live', 'test'] as const)('accepts the carrier account of %s mode by its signature', async (mode) => {
    const query = `?agent_id=${customer.agent._id}&note=a%20b`;
    const answer = await service.carrierPost(
      `/inbound_call${query}`,
      formOf({ Extra: 'kept, for the signature' }),
      mode,
    );
    expect((await requestOf(callIdOf(answer)))?.mode).toBe(mode);
  });

  it('rejects a wrong signature, another carrier account, and the account of the other mode', async () => {
    const form = formOf({ agent_id: customer.agent._id });
    const { carrierAccountId } = service.config.carriers.live;
    const wrong = { method: 'POST', headers: { 'X-Twilio-Signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' } };
    const body = () => new URLSearchParams({ ...form, AccountSid: carrierAccountId });
    expectError(await service.request('/inbound_call', { ...wrong, body: body() }), 401, 'UNAUTHORIZED');
    const mixed = await service.carrierPost('/inbound_call', { ...form, AccountSid: `AC${'9'.repeat(32)}` });
    expectError(mixed, 401, 'UNAUTHORIZED');
    const swapped = { ...form, AccountSid: service.config.carriers.test.carrierAccountId };
    expectError(await service.carrierPost('/inbound_call', swapped, 'live'), 401, 'UNAUTHORIZED');
  });
});
