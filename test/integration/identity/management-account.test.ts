import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';

let service: Service;
let ask: ReturnType<typeof managementOf>;
let customer: Customer;
let other: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
  [customer, other] = await Promise.all([service.customer(0), service.customer(0)]);
});
afterAll(() => service.close());

describe('phone numbers', () => {
  const path = (number: string) => `/phone_numbers/${encodeURIComponent(number)}`;

  it('are added, given an agent, listed and given up', async () => {
    const number = '+12025550142';
    const added = await ask.post('/phone_numbers', customer.liveKey, { phone_number: number });
    expect(added.json).toEqual({ phone_number: number, created_at: expect.any(String) });
    const agentId = customer.agent._id;
    const named = await ask.patch(path(number), customer.liveKey, { agent_id: agentId });
    expect(named.json).toMatchObject({ agent_id: agentId, active_agent_id: agentId });
    expect((await ask.get(`/phone_numbers/${number}`, customer.testKey)).json).toEqual(named.json);
    expect(listOf(await ask.get('/phone_numbers', customer.liveKey)).data).toEqual([named.json]);
    expectError(await ask.delete(`/agents/${agentId}`, customer.liveKey), 409, 'CONFLICT');
    expect((await ask.patch(path(number), customer.liveKey, { agent_id: null })).json).not.toHaveProperty('agent_id');
    expect((await ask.delete(path(number), customer.liveKey)).status).toBe(200);
    expectError(await ask.get(path(number), customer.liveKey), 404, 'NOT_FOUND');
  });

  it('are conducted by the account’s inbound agent where they name none', async () => {
    await ask.post('/phone_numbers', customer.liveKey, { phone_number: '+12025550143' });
    await ask.patch('/account', customer.liveKey, { inbound_agent_id: customer.agent._id });
    const { json } = await ask.get(path('+12025550143'), customer.liveKey);
    expect(json).toMatchObject({ active_agent_id: customer.agent._id });
    expect(json).not.toHaveProperty('agent_id');
    await ask.patch('/account', customer.liveKey, { inbound_agent_id: null });
  });

  it('have one owner, and another account’s are not found', async () => {
    const number = '+12025550144';
    await ask.post('/phone_numbers', other.liveKey, { phone_number: number });
    expectError(await ask.post('/phone_numbers', customer.liveKey, { phone_number: number }), 409, 'CONFLICT');
    expectError(await ask.get(path(number), customer.liveKey), 404, 'NOT_FOUND');
    expectError(await ask.patch(path(number), customer.liveKey, { agent_id: null }), 404, 'NOT_FOUND');
    expectError(await ask.delete(path(number), customer.liveKey), 404, 'NOT_FOUND');
    expect(await service.phoneNumbers.find(number)).toMatchObject({ accountId: other.account._id });
  });

  it('refuse bad numbers, another account’s agent, and test keys', async () => {
    const post = (body: object) => ask.post('/phone_numbers', customer.liveKey, body);
    for (const body of [{}, { phone_number: '1' }, { phone_number: ['+12025550145'] }]) {
      expectError(await post(body), 400, 'MISSING_PARAMS', /phone_number/);
    }
    const body = { phone_number: '+12025550145' };
    expectError(await post({ ...body, agent_id: other.agent._id }), 404, 'AGENT_NOT_FOUND');
    expectError(await ask.post('/phone_numbers', customer.testKey, body), 403, 'FORBIDDEN');
  });

  it('are given by operators where accounts may not take them', async () => {
    const closed = await startService({ worker: false, env: { SELF_SERVICE_NUMBERS: 'false' } });
    const { liveKey } = await closed.customer(0);
    const answer = await managementOf(closed).post('/phone_numbers', liveKey, { phone_number: '+12025550146' });
    expectError(answer, 403, 'FORBIDDEN', /operators/);
    await closed.close();
  });
});

describe('the account', () => {
  it('is read and changed', async () => {
    const read = await ask.get('/account', customer.liveKey);
    expect(read.json).toMatchObject({ account_id: customer.account._id, plan: 'growth', concurrent_calls: 50 });
    expect((await ask.get('/account', customer.testKey)).json).toMatchObject({ mode: 'test', concurrent_calls: 100 });
    const changed = await ask.patch('/account', customer.liveKey, { name: ' Acme ' });
    expect(changed.json).toEqual({ ...read.json, name: 'Acme' });
  });

  it('refuses another account’s agent, its own limits, and test keys', async () => {
    const patch = (body: object) => ask.patch('/account', customer.liveKey, body);
    expectError(await patch({ inbound_agent_id: other.agent._id }), 404, 'AGENT_NOT_FOUND');
    for (const field of ['plan', 'concurrent_calls', 'daily_spend_cap', 'account_id']) {
      expectError(await patch({ [field]: 'scale' }), 400, 'MISSING_PARAMS');
    }
    expectError(await ask.patch('/account', customer.testKey, { name: 'B' }), 403, 'FORBIDDEN');
    expect(await service.accounts.find(customer.account._id)).toMatchObject({ plan: 'growth', name: 'Acme' });
  });
});

describe('API keys', () => {
  it('are shown once, listed without their secret, renamed, and revoked for good', async () => {
    const made = await ask.post('/api_keys', customer.liveKey, { name: 'backend' });
    const { secret, ...view } = made.json;
    expect(secret).toMatch(/^sk_live_[0-9A-Za-z]{38}$/);
    expect(view).toMatchObject({ mode: 'live', state: 'active', last_four: String(secret).slice(-4) });
    expect((await ask.get('/account', String(secret))).status).toBe(200);
    const list = await ask.get('/api_keys', customer.liveKey);
    expect(listOf(list).data[0]).toMatchObject({ key_id: view['key_id'] });
    expect(list.text).not.toContain(String(secret));
    expect(listOf(list).data.every((key) => key['mode'] === 'live')).toBe(true);
    const path = `/api_keys/${String(view['key_id'])}`;
    expect((await ask.patch(path, customer.liveKey, { name: 'worker' })).json).toMatchObject({ name: 'worker' });
    const revoked = await ask.delete(path, customer.liveKey);
    expect(revoked.json).toMatchObject({ state: 'revoked', revoked_at: expect.any(String) });
    expect((await ask.delete(path, customer.liveKey)).json).toMatchObject({ revoked_at: revoked.json['revoked_at'] });
    expectError(await ask.get('/account', String(secret)), 401, 'UNAUTHORIZED');
    const later = { expires_at: new Date(Date.now() + 60_000).toISOString() };
    expectError(await ask.patch(path, customer.liveKey, later), 409, 'CONFLICT');
  });

  it('tell when they were used last', async () => {
    const { json } = await ask.post('/api_keys', customer.testKey, { name: 'used' });
    expect(json).not.toHaveProperty('last_used_at');
    await ask.get('/account', String(json['secret']));
    for (let looks = 0; looks < 50; looks++) {
      const [key] = listOf(await ask.get('/api_keys', customer.testKey)).data;
      if (key?.['last_used_at'] !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('The use of the key was not noted.');
  });

  it('expire when they are told to', async () => {
    const expires = new Date(Date.now() + 1_500);
    const { json } = await ask.post('/api_keys', customer.testKey, {
      name: 'short',
      expires_at: expires.toISOString(),
    });
    expect(json).toMatchObject({ mode: 'test', expires_at: expires.toISOString() });
    await new Promise((resolve) => setTimeout(resolve, expires.getTime() - Date.now() + 50));
    expectError(await ask.get('/account', String(json['secret'])), 401, 'UNAUTHORIZED');
    expect(listOf(await ask.get('/api_keys', customer.testKey)).data[0]).toMatchObject({ state: 'expired' });
    const lifted = await ask.patch(`/api_keys/${String(json['key_id'])}`, customer.testKey, { expires_at: null });
    expect(lifted.json).toMatchObject({ state: 'active' });
    expect((await ask.get('/account', String(json['secret']))).status).toBe(200);
  });

  it('refuse a bad name, an expiry in the past, and a mode of their own', async () => {
    const post = (body: object) => ask.post('/api_keys', customer.liveKey, body);
    expectError(await post({}), 400, 'MISSING_PARAMS', /name/);
    expectError(await post({ name: 'a', expires_at: '2020-01-01T00:00:00Z' }), 400, 'MISSING_PARAMS', /expires_at/);
    expectError(await post({ name: 'a', expires_at: 'tomorrow' }), 400, 'MISSING_PARAMS', /expires_at/);
    expectError(await post({ name: 'a', mode: 'test' }), 400, 'MISSING_PARAMS');
  });

  it('of another account or mode are not found', async () => {
    const foreign = await ask.post('/api_keys', other.liveKey, { name: 'theirs' });
    const test = await ask.post('/api_keys', customer.testKey, { name: 'test' });
    for (const id of [foreign.json['key_id'], test.json['key_id'], 'key_nobody']) {
      expectError(await ask.patch(`/api_keys/${String(id)}`, customer.liveKey, { name: 'x' }), 404, 'NOT_FOUND');
      expectError(await ask.delete(`/api_keys/${String(id)}`, customer.liveKey), 404, 'NOT_FOUND');
    }
    expect((await ask.get('/account', String(foreign.json['secret']))).status).toBe(200);
  });
});

describe('the audit log', () => {
  it('tells of each change who made it and of what, and of no refusal', async () => {
    const owner = await service.customer(0);
    const { json } = await ask.post('/agents', owner.liveKey, { name: 'A', instruction: 'B' });
    await ask.post('/agents', owner.liveKey, { name: '' });
    await ask.patch(`/agents/${String(json['agent_id'])}`, owner.liveKey, { name: 'C' });
    const { data } = listOf(await ask.get('/audit_log', owner.liveKey));
    expect(data.map(({ action, target }) => [action, target])).toEqual([
      ['updateAgent', json['agent_id']],
      ['createAgent', json['agent_id']],
    ]);
    expect(data[1]).toMatchObject({
      actor: { kind: 'key', id: expect.stringMatching(/^key_/), name: 'live' },
      request_id: expect.any(String),
    });
    expect(listOf(await ask.get('/audit_log', customer.liveKey)).data.map(({ target }) => target)).not.toContain(
      json['agent_id'],
    );
  });
});
