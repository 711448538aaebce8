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
  it('starts a call and answers 200 with exactly success, call_id, status RINGING and message', async () => {
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
    ['one digit', '+1'],
    ['with spaces', '+1 202 555 0100'],
    ['with a line feed', '+12025550100\n'],
    ['in full-width digits', '+１２０２５５５０１００'],
    ['a SIP address', 'sip:someone@example.com'],
    ['dialled as 00', '0012025550100'],
    ['a number, not a string', 12_025_550_100],
    ['an array', [TO]],
    ['an object', { $gt: '' }],
  ])('rule 1: to_phone_number %s is 400 MISSING_PARAMS', async (_name, to) => {
    const body = { to_phone_number: to, agent_id: customer.agent._id };
    expectError(await service.place(customer.liveKey, body), 400, 'MISSING_PARAMS', /to_phone_number/);
  });

  it.each([
    ['both absent', {}],
    ['both null', { agent_id: null, instruction: null }],
    ['agent_id empty', { agent_id: '' }],
    ['both empty', { agent_id: '', instruction: '' }],
  ])('rule 2: neither agent_id nor instruction (%s) is 400 MISSING_PARAMS', async (_name, fields) => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, ...fields });
    expectError(answer, 400, 'MISSING_PARAMS', /agent_id or instruction/);
  });

  it('names every field at fault in one message', async () => {
    const answer = await service.place(customer.liveKey, { webhook_url: 5 });
    expectError(answer, 400, 'MISSING_PARAMS', /to_phone_number.*webhook_url.*agent_id or instruction/s);
  });

  it.each([
    ['of the right form', 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
    ['of any other form', 'nobody'],
    ['of a temporary agent', 'agent_tmp_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
  ])('rule 3: an agent_id %s that names no agent is 404 AGENT_NOT_FOUND', async (_name, agentId) => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: agentId });
    expectError(answer, 404, 'AGENT_NOT_FOUND');
  });

  it("another account's agent is 404 AGENT_NOT_FOUND", async () => {
    const other = await service.customer();
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: other.agent._id });
    expectError(answer, 404, 'AGENT_NOT_FOUND');
  });

  it('rule 4: a balance that does not cover a minute is 402 INSUFFICIENT_BALANCE, and there is no such call', async () => {
    const poor = await service.customer(149_999);
    const answer = await service.place(poor.liveKey, { to_phone_number: TO, agent_id: poor.agent._id });
    expectError(answer, 402, 'INSUFFICIENT_BALANCE');
    expect(await service.database.callRequests.countDocuments({ accountId: poor.account._id })).toBe(0);
  });

  it('a balance for exactly a minute is enough', async () => {
    const exact = await service.customer(150_000);
    const answer = await service.place(exact.liveKey, { to_phone_number: TO, agent_id: exact.agent._id });
    expect(answer.status).toBe(200);
  });

  it('test keys have a test balance of their own', async () => {
    const poor = await service.customer(0);
    const answer = await service.place(poor.testKey, { to_phone_number: TO, agent_id: poor.agent._id });
    expect(answer.status).toBe(200);
  });

  it('writes down what was asked for, with the agent as it is now', async () => {
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
      agent: { agentId: customer.agent._id, name: 'Reminders', outputParameters: '{"confirmed":false}' },
      webhookUrl: 'https://example.com/hook',
      externalCallId: 'order-4711',
      inputParameters: '{"name":"Ms Chen"}',
      maxDurationSeconds: 600,
      ringTimeoutSeconds: 30,
    });
  });

  it('instruction alone makes a temporary agent for this call, which no later request can use', async () => {
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

  it("instruction beside agent_id replaces that agent's for this call only", async () => {
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

  it("the agent's webhook_url, template and limits stand where the request names none", async () => {
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
    ['webhook_url that is no URL', { webhook_url: 'not a url' }, /webhook_url/],
    ['webhook_url with another scheme', { webhook_url: 'ftp://example.com/x' }, /webhook_url/],
    ['webhook_url with a password', { webhook_url: 'https://a:b@example.com/' }, /webhook_url/],
    ['webhook_url over 2,048 characters', { webhook_url: `https://example.com/${'a'.repeat(2_048)}` }, /webhook_url/],
    [
      'input_parameters that is an object',
      { input_parameters: { a: 1 } },
      /input_parameters must be a string.*object was given/,
    ],
    ['input_parameters that is no JSON', { input_parameters: '{a' }, /input_parameters/],
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
    ['output_parameters that is an object', { output_parameters: {} }, /output_parameters must be a string/],
    ['output_parameters with an object inside', { output_parameters: '{"a":{}}' }, /output_parameters.*null, boolean/],
    ['instruction over 32,768 characters', { instruction: 'x'.repeat(32_769) }, /instruction/],
    ['instruction that is a number', { instruction: 5 }, /instruction/],
    ['instruction with a NUL', { instruction: 'a\0b' }, /instruction/],
    ['instruction with half a character', { instruction: 'a\ud800b' }, /instruction/],
    ['external_call_id over 255 characters', { external_call_id: 'x'.repeat(256) }, /external_call_id/],
    ['external_call_id that is a number', { external_call_id: 7 }, /external_call_id/],
    ['agent_id that is an array', { agent_id: ['agent'] }, /agent_id/],
  ])('%s is 400 MISSING_PARAMS naming the field', async (_name, fields, message) => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: TO,
      agent_id: customer.agent._id,
      ...fields,
    });
    expectError(answer, 400, 'MISSING_PARAMS', message);
  });

  it('fields at their greatest lengths are taken', async () => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: TO,
      instruction: 'x'.repeat(32_768),
      external_call_id: 'x'.repeat(255),
      input_parameters: `{"a":"${'x'.repeat(16_384 - 8)}"}`,
      webhook_url: `https://example.com/${'a'.repeat(2_048 - 20)}`,
    });
    expect(answer.status).toBe(200);
  });

  it('unknown fields are ignored', async () => {
    const body = { to_phone_number: TO, agent_id: customer.agent._id, status: 'COMPLETED', _id: 'x', price: 0 };
    const answer = await service.place(customer.liveKey, body);
    expect(answer.json['status']).toBe('RINGING');
  });

  it('a field given twice in the JSON object is 400', async () => {
    const answer = await service.request('/outbound_call', {
      method: 'POST',
      key: customer.liveKey,
      headers: { 'Content-Type': 'application/json' },
      body: `{"to_phone_number":"${TO}","to_phone_number":"+12025550101","agent_id":"${customer.agent._id}"}`,
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it('live calls come from the number of the agent, else the first of the account, else the configured one', async () => {
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

  it('test calls come from +15005550006', async () => {
    const answer = await service.place(customer.testKey, { to_phone_number: TO, agent_id: customer.agent._id });
    expect(await requestOf(answer.json['call_id'])).toMatchObject({ mode: 'test', fromPhoneNumber: '+15005550006' });
  });

  it('the number the call would come from is 400', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: '+12025550199', instruction: 'Hello.' });
    expectError(answer, 400, 'MISSING_PARAMS', /to_phone_number/);
  });

  it.each(['+1911', '+44999', '+49112'])('emergency number %s is 403 DESTINATION_NOT_ALLOWED', async (to) => {
    const answer = await service.place(customer.testKey, { to_phone_number: to, instruction: 'Hello.' });
    expectError(answer, 403, 'DESTINATION_NOT_ALLOWED');
  });

  it("a country off the account's list is 403 DESTINATION_NOT_ALLOWED", async () => {
    const owner = await service.customer();
    await service.accounts.setLimits(owner.account._id, { allowedCountryPrefixes: ['+44', '+1202'] });
    const place = (to: string) => service.place(owner.liveKey, { to_phone_number: to, agent_id: owner.agent._id });
    expectError(await place('+33123456789'), 403, 'DESTINATION_NOT_ALLOWED');
    expect((await place(TO)).status).toBe(200);
  });

  it('over the daily spending limit the answer is 403 SPEND_LIMIT_EXCEEDED, and no call is left', async () => {
    const owner = await service.customer();
    await service.accounts.setLimits(owner.account._id, { dailySpendCapMicros: 149_999 });
    const place = () => service.place(owner.liveKey, { to_phone_number: TO, agent_id: owner.agent._id });
    expectError(await place(), 403, 'SPEND_LIMIT_EXCEEDED');
    expect(await service.database.calls.countDocuments({ accountId: owner.account._id })).toBe(0);
    await service.accounts.setLimits(owner.account._id, { dailySpendCapMicros: null });
    expect((await place()).status).toBe(200);
  });

  it('while the account is checked the answer is 503 SERVICE_UNAVAILABLE, and the same key places the call afterwards', async () => {
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
    expectError(await place(), 503, 'SERVICE_UNAVAILABLE', /being checked/);
    expect(await service.database.calls.countDocuments({ accountId: owner.account._id })).toBe(0);
    await ledger.unfreeze(id);
    expect((await place()).status).toBe(200);
  });

  it('at the concurrency limit the answer is 429 with limit and current, and no call is left', async () => {
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
  it('starts a call and answers as POST does, with Cache-Control: no-store', async () => {
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      key: customer.liveKey,
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ success: true, status: 'RINGING' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('takes webhook_url and external_call_id', async () => {
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

  it('a plus that is not escaped arrives as a space: the 400 says to write %2B', async () => {
    const answer = await service.request(`/outbound_call?to_phone_number=${TO}&agent_id=${customer.agent._id}`, {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /%2B/);
  });

  it('without agent_id it is 400, and the message says that POST takes instruction', async () => {
    const answer = await service.request(query({ to_phone_number: TO, instruction: 'Hello.' }), {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /agent_id is required.*POST/);
  });

  it('instruction, input_parameters and output_parameters beside an agent are unknown here and ignored', async () => {
    const fields = { to_phone_number: TO, agent_id: customer.agent._id, instruction: 'x', input_parameters: 'no json' };
    const answer = await service.request(query(fields), { key: customer.liveKey });
    expect((await requestOf(answer.json['call_id']))?.agent.instruction).toBe(customer.agent.instruction);
  });

  it.each(['to_phone_number', 'agent_id', 'webhook_url', 'external_call_id'])('%s given twice is 400', async (name) => {
    const value = encodeURIComponent(name === 'to_phone_number' ? TO : customer.agent._id);
    const path = `${query({ to_phone_number: TO, agent_id: customer.agent._id, webhook_url: 'https://example.com', external_call_id: 'x' })}&${name}=${value}`;
    expectError(await service.request(path, { key: customer.liveKey }), 400, 'MISSING_PARAMS', new RegExp(name));
  });

  it('operators in brackets are unknown parameters', async () => {
    const answer = await service.request('/outbound_call?to_phone_number[$ne]=x&agent_id[$ne]=y', {
      key: customer.liveKey,
    });
    expectError(answer, 400, 'MISSING_PARAMS');
  });

  it.each([
    ['Sec-Purpose', 'prefetch;prerender'],
    ['Purpose', 'prefetch'],
  ])('a request marked as prefetch by %s is 403 and dials nobody', async (name, value) => {
    const before = await service.callsAskedFor();
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      key: customer.liveKey,
      headers: { [name]: value },
    });
    expectError(answer, 403, 'FORBIDDEN');
    expect(await service.callsAskedFor()).toBe(before);
  });

  it.each(['HEAD', 'OPTIONS'])('%s never dials: 405 with Allow', async (method) => {
    const before = await service.callsAskedFor();
    const answer = await service.request(query({ to_phone_number: TO, agent_id: customer.agent._id }), {
      method,
      key: customer.liveKey,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, POST');
    expect(await service.callsAskedFor()).toBe(before);
  });
});
