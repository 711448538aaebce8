import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const TO = '+12025550100';
const query = (fields: Record<string, string>) => `/outbound_call?${new URLSearchParams(fields).toString()}`;
const requestOf = (callId: unknown) => service.database.callRequests.findById(callId).lean();

describe('POST /outbound_call', () => {
  it('starts a call and responds with exactly success, call_id, status RINGING and message', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: customer.agent._id });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.json).toEqual({
      success: true,
      call_id: expect.stringMatching(/^call_[0-9A-HJKMNP-TV-Z]{26}$/),
      status: 'RINGING',
      message: expect.any(String),
    });
  });

  it.each([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['without a plus', '12025550100'],
    ['beginning with 0', '+02025550100'],
    ['longer than 15 digits', '+1234567890123456'],
    ['only one digit', '+1'],
    ['with spaces', '+1 202 555 0100'],
    ['with a line feed', '+12025550100\n'],
    ['in full-width digits', '+１２０２５５５０１００'],
    ['a SIP address', 'sip:someone@example.com'],
    ['dialed with 00', '0012025550100'],
    ['a number, not a string', 12_025_550_100],
    ['an array', [TO]],
    ['an object', { $gt: '' }],
  ])('rule 1: rejects a to_phone_number that is %s with 400 MISSING_PARAMS', async (_name, to) => {
    const body = { to_phone_number: to, agent_id: customer.agent._id };
    expectError(await service.place(customer.liveKey, body), 400, 'MISSING_PARAMS', /to_phone_number/);
  });

  it.each([
    ['both absent', {}],
    ['both null', { agent_id: null, instruction: null }],
    ['agent_id empty', { agent_id: '' }],
    ['both empty', { agent_id: '', instruction: '' }],
  ])('rule 2: requires agent_id or instruction (%s): 400', async (_name, fields) => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, ...fields });
    expectError(answer, 400, 'MISSING_PARAMS', /agent_id or instruction/);
  });

  it('names every invalid field in one message', async () => {
    const answer = await service.place(customer.liveKey, { webhook_url: 5 });
    expectError(answer, 400, 'MISSING_PARAMS', /to_phone_number.*webhook_url.*agent_id or instruction/s);
  });

  it.each([
    ['of the valid form', 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
    ['of any other form', 'nobody'],
    ['of a temporary agent', 'agent_tmp_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
  ])('rule 3: responds with 404 AGENT_NOT_FOUND to an unknown agent_id %s', async (_name, agentId) => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: agentId });
    expectError(answer, 404, 'AGENT_NOT_FOUND');
  });

  it("responds with 404 AGENT_NOT_FOUND to another account's agent", async () => {
    const other = await service.customer();
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: other.agent._id });
    expectError(answer, 404, 'AGENT_NOT_FOUND');
  });

  it('rule 4: responds with 402 INSUFFICIENT_BALANCE to a balance for less than a minute and creates no call', async () => {
    const poorCustomer = await service.customer(149_999);
    const answer = await service.place(poorCustomer.liveKey, {
      to_phone_number: TO,
      agent_id: poorCustomer.agent._id,
    });
    expectError(answer, 402, 'INSUFFICIENT_BALANCE');
    expect(await service.database.callRequests.countDocuments({ accountId: poorCustomer.account._id })).toBe(0);
  });

  it('accepts a balance for exactly one minute', async () => {
    const exact = await service.customer(150_000);
    const answer = await service.place(exact.liveKey, { to_phone_number: TO, agent_id: exact.agent._id });
    expect(answer.status).toBe(200);
  });

  it('uses a separate test balance for test keys', async () => {
    const poorCustomer = await service.customer(0);
    const answer = await service.place(poorCustomer.testKey, {
      to_phone_number: TO,
      agent_id: poorCustomer.agent._id,
    });
    expect(answer.status).toBe(200);
  });

  it('stores the request with a copy of the agent', async () => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: TO,
      agent_id: customer.agent._id,
      webhook_url: 'https://example.com/hook',
      external_call_id: 'order-4711',
      input_parameters: '{"name":"Ms Chen"}',
      output_parameters: '{"confirmed":false}',
    });
    expect(await requestOf(answer.json['call_id'])).toMatchObject({
      accountId: customer.account._id,
      mode: 'live',
      direction: 'outbound',
      toPhoneNumber: TO,
      fromPhoneNumber: '+12025550199',
      agent: { agentId: customer.agent._id, mode: 'live', name: 'Reminders', outputParameters: '{"confirmed":false}' },
      webhookUrl: 'https://example.com/hook',
      externalCallId: 'order-4711',
      inputParameters: '{"name":"Ms Chen"}',
      maxDurationSeconds: 600,
      ringTimeoutSeconds: 30,
    });
  });

  it('creates a temporary agent for an instruction alone, which no later request can use', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, instruction: 'Say hello.' });
    const stored = await requestOf(answer.json['call_id']);
    expect(stored?.agent).toEqual({
      agentId: expect.stringMatching(/^agent_tmp_[0-9A-HJKMNP-TV-Z]{26}$/),
      instruction: 'Say hello.',
      voice: 'amber',
      language: 'en-US',
    });
    expect(stored).toMatchObject({ inputParameters: '{}', externalCallId: '', maxDurationSeconds: 600 });
    const again = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: stored?.agent.agentId });
    expectError(again, 404, 'AGENT_NOT_FOUND');
  });

  it("replaces the agent's instruction for this call only", async () => {
    const body = { to_phone_number: TO, agent_id: customer.agent._id, instruction: 'Say goodbye.' };
    const answer = await service.place(customer.liveKey, body);
    const stored = await requestOf(answer.json['call_id']);
    expect(stored?.agent).toMatchObject({
      agentId: customer.agent._id,
      name: 'Reminders',
      instruction: 'Say goodbye.',
    });
    expect((await service.agents.find(customer.agent._id))?.instruction).toBe(customer.agent.instruction);
  });

  it("uses the agent's webhook_url, output parameters and limits if the request has none", async () => {
    const agent = await service.agents.create({
      accountId: customer.account._id,
      name: 'With everything',
      instruction: 'Hello.',
      voice: 'amber',
      language: 'en-US',
      webhookUrl: 'https://example.com/agent-hook',
      outputParameters: '{"a":null}',
      maxDurationSeconds: 90,
      ringTimeoutSeconds: 10,
    });
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: agent._id });
    expect(await requestOf(answer.json['call_id'])).toMatchObject({
      webhookUrl: 'https://example.com/agent-hook',
      agent: { outputParameters: '{"a":null}' },
      maxDurationSeconds: 90,
      ringTimeoutSeconds: 10,
    });
  });

  it.each([
    ['webhook_url that is not a URL', { webhook_url: 'not a url' }, /webhook_url/],
    ['webhook_url with another scheme', { webhook_url: 'ftp://example.com/x' }, /webhook_url/],
    ['webhook_url with a password', { webhook_url: 'https://a:b@example.com/' }, /webhook_url/],
    ['webhook_url over 2,048 characters', { webhook_url: `https://example.com/${'a'.repeat(2_048)}` }, /webhook_url/],
    [
      'input_parameters that is an object',
      { input_parameters: { a: 1 } },
      /input_parameters must be a JSON object.*object was given/,
    ],
    ['input_parameters that is not JSON', { input_parameters: '{a' }, /input_parameters/],
    ['input_parameters that holds an array', { input_parameters: '[1]' }, /input_parameters/],
    [
      'input_parameters nested too deeply',
      { input_parameters: `{"a":${'['.repeat(9_000)}${']'.repeat(7_000)}}` },
      /input_parameters/,
    ],
    [
      'input_parameters over 16,384 characters',
      { input_parameters: `{"a":"${'x'.repeat(16_384)}"}` },
      /input_parameters/,
    ],
    ['output_parameters that is an object', { output_parameters: {} }, /output_parameters must be a JSON object/],
    ['output_parameters with an object inside', { output_parameters: '{"a":{}}' }, /output_parameters.*null, boolean/],
    ['instruction over 32,768 characters', { instruction: 'x'.repeat(32_769) }, /instruction/],
    ['instruction that is a number', { instruction: 5 }, /instruction/],
    ['instruction with a NUL', { instruction: 'a\0b' }, /instruction/],
    ['instruction with half a surrogate pair', { instruction: 'a\ud800b' }, /instruction/],
    ['external_call_id over 255 characters', { external_call_id: 'x'.repeat(256) }, /external_call_id/],
    ['external_call_id that is a number', { external_call_id: 7 }, /external_call_id/],
    ['agent_id that is an array', { agent_id: ['agent'] }, /agent_id/],
  ])('rejects %s with 400 MISSING_PARAMS and names the field', async (_name, fields, message) => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: TO,
      agent_id: customer.agent._id,
      ...fields,
    });
    expectError(answer, 400, 'MISSING_PARAMS', message);
  });

  it('accepts fields of maximum length', async () => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: TO,
      instruction: 'x'.repeat(32_768),
      external_call_id: 'x'.repeat(255),
      input_parameters: `{"a":"${'x'.repeat(16_384 - 8)}"}`,
      webhook_url: `https://example.com/${'a'.repeat(2_048 - 20)}`,
    });
    expect(answer.status).toBe(200);
  });

  it('ignores unknown fields', async () => {
    const body = { to_phone_number: TO, agent_id: customer.agent._id, status: 'COMPLETED', _id: 'x', price: 0 };
    const answer = await service.place(customer.liveKey, body);
    expect(answer.json['status']).toBe('RINGING');
  });

  it('rejects a repeated field in the JSON object with 400', async () => {
    const answer = await service.request('/outbound_call', {
      method: 'POST',
      key: customer.liveKey,
      headers: { 'Content-Type': 'application/json' },
      body: `{"to_phone_number":"${TO}","to_phone_number":"+12025550101","agent_id":"${customer.agent._id}"}`,
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it('calls from the number of the agent, else the first of the account, else the configured one', async () => {
    const owner = await service.customer();
    const from = async (agentId: string) => {
      const answer = await service.place(owner.liveKey, { to_phone_number: TO, agent_id: agentId });
      return (await requestOf(answer.json['call_id']))?.fromPhoneNumber;
    };
    expect(await from(owner.agent._id)).toBe('+12025550199');
    await service.phoneNumbers.add({ number: '+12025550171', accountId: owner.account._id });
    await service.phoneNumbers.add({ number: '+12025550172', accountId: owner.account._id });
    expect(await from(owner.agent._id)).toBe('+12025550171');
    await service.agents.update(owner.agent._id, { phoneNumber: '+12025550172' });
    expect(await from(owner.agent._id)).toBe('+12025550172');
  });

  it('places test calls from +15005550006', async () => {
    const answer = await service.place(customer.testKey, { to_phone_number: TO, agent_id: customer.agent._id });
    expect(await requestOf(answer.json['call_id'])).toMatchObject({ mode: 'test', fromPhoneNumber: '+15005550006' });
  });

  it('rejects the number it would call from with 400', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: '+12025550199', instruction: 'Hello.' });
    expectError(answer, 400, 'MISSING_PARAMS', /to_phone_number/);
  });

  it.each(['+1911', '+44999', '+49112'])('rejects the emergency number %s with 403', async (to) => {
    const answer = await service.place(customer.testKey, { to_phone_number: to, instruction: 'Hello.' });
    expectError(answer, 403, 'DESTINATION_NOT_ALLOWED');
  });

  it("rejects a country that is not on the account's list with 403 DESTINATION_NOT_ALLOWED", async () => {
    const owner = await service.customer();
    await service.accounts.setLimits(owner.account._id, { allowedCountryPrefixes: ['+44', '+1202'] });
    const place = (to: string) => service.place(owner.liveKey, { to_phone_number: to, agent_id: owner.agent._id });
    expectError(await place('+33123456789'), 403, 'DESTINATION_NOT_ALLOWED');
    expect((await place(TO)).status).toBe(200);
  });

  it('responds with 403 SPEND_LIMIT_EXCEEDED over the daily spending limit and keeps no call', async () => {
    const owner = await service.customer();
    await service.accounts.setLimits(owner.account._id, { dailySpendCapMicros: 149_999 });
    const place = () => service.place(owner.liveKey, { to_phone_number: TO, agent_id: owner.agent._id });
    expectError(await place(), 403, 'SPEND_LIMIT_EXCEEDED');
    expect(await service.database.calls.countDocuments({ accountId: owner.account._id })).toBe(0);
    await service.accounts.setLimits(owner.account._id, { dailySpendCapMicros: null });
    expect((await place()).status).toBe(200);
  });

  it('responds with 503 while the account is frozen, and the same key places the call afterwards', async () => {
    const owner = await service.customer();
    const ledger = createLedger(service.database);
    const id = ledgerAccountId(owner.account._id, 'live');
    await ledger.freeze(id, 'a test');
    const place = () =>
      service.place(
        owner.liveKey,
        { to_phone_number: TO, agent_id: owner.agent._id },
        { 'idempotency-key': 'frozen-once' },
      );
    expectError(await place(), 503, 'SERVICE_UNAVAILABLE', /is frozen .* Contact the operator/);
    expect(await service.database.calls.countDocuments({ accountId: owner.account._id })).toBe(0);
    await ledger.unfreeze(id);
    expect((await place()).status).toBe(200);
  });

  it('responds with 429, limit and current at the concurrency limit and keeps no call', async () => {
    const busy = await service.customer();
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 0 });
    const answer = await service.place(busy.liveKey, { to_phone_number: TO, agent_id: busy.agent._id });
    expectError(answer, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
    expect(answer.json).toMatchObject({ limit: 0, current: 0 });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await service.database.calls.countDocuments({ accountId: busy.account._id })).toBe(0);
  });
});

describe('GET /outbound_call', () => {
  it('starts a call and responds like POST, with Cache-Control: no-store', async () => {
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      key: customer.liveKey,
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ success: true, status: 'RINGING' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('accepts webhook_url and external_call_id', async () => {
    const fields = {
      to_phone_number: TO,
      agent_id: customer.agent._id,
      webhook_url: 'https://example.com/h',
      external_call_id: 'a b',
    };
    const answer = await service.request(query(fields), { key: customer.liveKey });
    const stored = await requestOf(answer.json['call_id']);
    expect(stored).toMatchObject({ webhookUrl: 'https://example.com/h', externalCallId: 'a b' });
  });

  it('suggests %2B in the 400 for a plus that was not escaped', async () => {
    const answer = await service.request(`/outbound_call?to_phone_number=${TO}&agent_id=${customer.agent._id}`, {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /%2B/);
  });

  it('responds with 400 to a request without agent_id and mentions that POST accepts instruction', async () => {
    const answer = await service.request(query({ to_phone_number: TO, instruction: 'Hello.' }), {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /agent_id is required.*POST/);
  });

  it('ignores instruction, input_parameters and output_parameters as unknown', async () => {
    const fields = { to_phone_number: TO, agent_id: customer.agent._id, instruction: 'x', input_parameters: 'no json' };
    const answer = await service.request(query(fields), { key: customer.liveKey });
    expect((await requestOf(answer.json['call_id']))?.agent.instruction).toBe(customer.agent.instruction);
  });

  it.each(['to_phone_number', 'agent_id', 'webhook_url', 'external_call_id'])('rejects a repeated %s', async (name) => {
    const value = encodeURIComponent(name === 'to_phone_number' ? TO : customer.agent._id);
    const path = `${query({ to_phone_number: TO, agent_id: customer.agent._id, webhook_url: 'https://example.com', external_call_id: 'x' })}&${name}=${value}`;
    expectError(await service.request(path, { key: customer.liveKey }), 400, 'MISSING_PARAMS', new RegExp(name));
  });

  it('treats operators in brackets as unknown parameters', async () => {
    const answer = await service.request('/outbound_call?to_phone_number[$ne]=x&agent_id[$ne]=y', {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it.each([
    ['Sec-Purpose', 'prefetch;prerender'],
    ['Purpose', 'prefetch'],
  ])('rejects a request marked as prefetch by %s with 403 and does not dial', async (name, value) => {
    const before = await service.countCallRequests();
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      key: customer.liveKey,
      headers: { [name]: value },
    });
    expectError(answer, 403, 'FORBIDDEN');
    expect(await service.countCallRequests()).toBe(before);
  });

  it.each(['HEAD', 'OPTIONS'])('responds to %s with 405 and Allow and does not dial', async (method) => {
    const before = await service.countCallRequests();
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      method,
      key: customer.liveKey,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, POST');
    expect(await service.countCallRequests()).toBe(before);
  });
});
