import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
let other: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  api = managementOf(service);
  [customer, other] = await Promise.all([service.customer(0), service.customer(0)]);
});
afterAll(() => service.close());

describe('phone numbers', () => {
  const path = (number: string) => `/phone_numbers/${encodeURIComponent(number)}`;

  it('are added, assigned to an agent, listed and removed', async () => {
    const number = '+12025550142';
    const added = await api.post('/phone_numbers', customer.liveKey, { phone_number: number });
    expect(added.json).toEqual({ phone_number: number, created_at: expect.any(String) });
    const agentId = customer.agent._id;
    const named = await api.patch(path(number), customer.liveKey, { agent_id: agentId });
    expect(named.json).toMatchObject({ agent_id: agentId, active_agent_id: agentId });
    expect((await api.get(`/phone_numbers/${number}`, customer.testKey)).json).toEqual(named.json);
    expect(listOf(await api.get('/phone_numbers', customer.liveKey)).data).toEqual([named.json]);
    expectError(await api.delete(`/agents/${agentId}`, customer.liveKey), 409, 'CONFLICT');
    expect((await api.patch(path(number), customer.liveKey, { agent_id: null })).json).not.toHaveProperty('agent_id');
    expect((await api.delete(path(number), customer.liveKey)).status).toBe(200);
    expectError(await api.get(path(number), customer.liveKey), 404, 'NOT_FOUND');
  });

  it('use the account’s inbound agent if they have none', async () => {
    await api.post('/phone_numbers', customer.liveKey, { phone_number: '+12025550143' });
    await api.patch('/account', customer.liveKey, { inbound_agent_id: customer.agent._id });
    const { json } = await api.get(path('+12025550143'), customer.liveKey);
    expect(json).toMatchObject({ active_agent_id: customer.agent._id });
    expect(json).not.toHaveProperty('agent_id');
    await api.patch('/account', customer.liveKey, { inbound_agent_id: null });
  });

  it('belong to one account and are not found by others', async () => {
    const number = '+12025550144';
    await api.post('/phone_numbers', other.liveKey, { phone_number: number });
    expectError(await api.post('/phone_numbers', customer.liveKey, { phone_number: number }), 409, 'CONFLICT');
    expectError(await api.get(path(number), customer.liveKey), 404, 'NOT_FOUND');
    expectError(await api.patch(path(number), customer.liveKey, { agent_id: null }), 404, 'NOT_FOUND');
    expectError(await api.delete(path(number), customer.liveKey), 404, 'NOT_FOUND');
    expect(await service.phoneNumbers.find(number)).toMatchObject({ accountId: other.account._id });
  });

  it('reject invalid numbers, another account’s agent, and test keys', async () => {
    const post = (body: object) => api.post('/phone_numbers', customer.liveKey, body);
    for (const body of [{}, { phone_number: '1' }, { phone_number: ['+12025550145'] }]) {
      expectError(await post(body), 400, 'MISSING_PARAMS', /phone_number/);
    }
    const body = { phone_number: '+12025550145' };
    expectError(await post({ ...body, agent_id: other.agent._id }), 404, 'AGENT_NOT_FOUND');
    expectError(await api.post('/phone_numbers', customer.testKey, body), 403, 'FORBIDDEN');
  });

  it('are added only by operators when SELF_SERVICE_NUMBERS is false', async () => {
    const closed = await startService({ worker: false, env: { SELF_SERVICE_NUMBERS: 'false' } });
    const { liveKey } = await closed.customer(0);
    const answer = await managementOf(closed).post('/phone_numbers', liveKey, { phone_number: '+12025550146' });
    expectError(answer, 403, 'FORBIDDEN', /operators/);
    await closed.close();
  });
});

describe('the account', () => {
  it('can be read and changed', async () => {
    const read = await api.get('/account', customer.liveKey);
    expect(read.json).toMatchObject({ account_id: customer.account._id, plan: 'growth', concurrent_calls: 50 });
    expect((await api.get('/account', customer.testKey)).json).toMatchObject({ mode: 'test', concurrent_calls: 100 });
    const changed = await api.patch('/account', customer.liveKey, { name: ' Acme ' });
    expect(changed.json).toEqual({ ...read.json, name: 'Acme' });
  });

  it('rejects another account’s agent, changes of its limits, and test keys', async () => {
    const patch = (body: object) => api.patch('/account', customer.liveKey, body);
    expectError(await patch({ inbound_agent_id: other.agent._id }), 404, 'AGENT_NOT_FOUND');
    for (const field of ['plan', 'concurrent_calls', 'daily_spend_cap', 'account_id']) {
      expectError(await patch({ [field]: 'scale' }), 400, 'MISSING_PARAMS');
    }
    expectError(await api.patch('/account', customer.testKey, { name: 'B' }), 403, 'FORBIDDEN');
    expect(await service.accounts.find(customer.account._id)).toMatchObject({ plan: 'growth', name: 'Acme' });
  });
});

describe('API keys', () => {
  it('show their secret once, are listed without it, renamed, and revoked for good', async () => {
    const made = await api.post('/api_keys', customer.liveKey, { name: 'backend' });
    const { secret, ...view } = made.json;
    expect(secret).toMatch(/^sk_live_[0-9A-Za-z]{38}$/);
    expect(view).toMatchObject({ mode: 'live', state: 'active', last_four: String(secret).slice(-4) });
    expect((await api.get('/account', String(secret))).status).toBe(200);
    const list = await api.get('/api_keys', customer.liveKey);
    expect(listOf(list).data[0]).toMatchObject({ key_id: view['key_id'] });
    expect(list.text).not.toContain(String(secret));
    expect(listOf(list).data.every((key) => key['mode'] === 'live')).toBe(true);
    const path = `/api_keys/${String(view['key_id'])}`;
    expect((await api.patch(path, customer.liveKey, { name: 'worker' })).json).toMatchObject({ name: 'worker' });
    const revoked = await api.delete(path, customer.liveKey);
    expect(revoked.json).toMatchObject({ state: 'revoked', revoked_at: expect.any(String) });
    expect((await api.delete(path, customer.liveKey)).json).toMatchObject({ revoked_at: revoked.json['revoked_at'] });
    expectError(await api.get('/account', String(secret)), 401, 'UNAUTHORIZED');
    const later = { expires_at: new Date(Date.now() + 60_000).toISOString() };
    expectError(await api.patch(path, customer.liveKey, later), 409, 'CONFLICT');
  });

  it('show when they were last used', async () => {
    const { json } = await api.post('/api_keys', customer.testKey, { name: 'used' });
    expect(json).not.toHaveProperty('last_used_at');
    await api.get('/account', String(json['secret']));
    for (let attempts = 0; attempts < 50; attempts++) {
      const [key] = listOf(await api.get('/api_keys', customer.testKey)).data;
      if (key?.['last_used_at'] !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('The use of the key was not stored.');
  });

  it('expire at their expiry time, and work again without one', async () => {
    const expires = new Date(Date.now() + 1_500);
    const { json } = await api.post('/api_keys', customer.testKey, {
      name: 'short',
      expires_at: expires.toISOString(),
    });
    expect(json).toMatchObject({ mode: 'test', expires_at: expires.toISOString() });
    await new Promise((resolve) => setTimeout(resolve, expires.getTime() - Date.now() + 50));
    expectError(await api.get('/account', String(json['secret'])), 401, 'UNAUTHORIZED');
    expect(listOf(await api.get('/api_keys', customer.testKey)).data[0]).toMatchObject({ state: 'expired' });
    const lifted = await api.patch(`/api_keys/${String(json['key_id'])}`, customer.testKey, { expires_at: null });
    expect(lifted.json).toMatchObject({ state: 'active' });
    expect((await api.get('/account', String(json['secret']))).status).toBe(200);
  });

  it('reject a bad name, an expiry in the past, and a mode', async () => {
    const post = (body: object) => api.post('/api_keys', customer.liveKey, body);
    expectError(await post({}), 400, 'MISSING_PARAMS', /name/);
    expectError(await post({ name: 'a', expires_at: '2020-01-01T00:00:00Z' }), 400, 'MISSING_PARAMS', /expires_at/);
    expectError(await post({ name: 'a', expires_at: 'tomorrow' }), 400, 'MISSING_PARAMS', /expires_at/);
    expectError(await post({ name: 'a', mode: 'test' }), 400, 'MISSING_PARAMS');
  });

  it('are not found with a key of another account or mode', async () => {
    const otherKey = await api.post('/api_keys', other.liveKey, { name: 'theirs' });
    const test = await api.post('/api_keys', customer.testKey, { name: 'test' });
    for (const id of [otherKey.json['key_id'], test.json['key_id'], 'key_nobody']) {
      expectError(await api.patch(`/api_keys/${String(id)}`, customer.liveKey, { name: 'x' }), 404, 'NOT_FOUND');
      expectError(await api.delete(`/api_keys/${String(id)}`, customer.liveKey), 404, 'NOT_FOUND');
    }
    expect((await api.get('/account', String(otherKey.json['secret']))).status).toBe(200);
  });
});

describe('the audit log', () => {
  it('records who made each change and to what, and omits rejected requests', async () => {
    const owner = await service.customer(0);
    const { json } = await api.post('/agents', owner.liveKey, { name: 'A', instruction: 'B' });
    await api.post('/agents', owner.liveKey, { name: '' });
    await api.patch(`/agents/${String(json['agent_id'])}`, owner.liveKey, { name: 'C' });
    const { data } = listOf(await api.get('/audit_log', owner.liveKey));
    expect(data.map(({ action, target }) => [action, target])).toEqual([
      ['updateAgent', json['agent_id']],
      ['createAgent', json['agent_id']],
    ]);
    expect(data[1]).toMatchObject({
      actor: { kind: 'key', id: expect.stringMatching(/^key_/), name: 'live' },
      request_id: expect.any(String),
    });
    expect(listOf(await api.get('/audit_log', customer.liveKey)).data.map(({ target }) => target)).not.toContain(
      json['agent_id'],
    );
  });
});
