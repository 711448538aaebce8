import { startService, type Customer, type Service } from '../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
}, 60_000);
afterAll(() => service?.close());

const newKey = async (name: string) =>
  (await service.apiKeys.create({ accountId: customer.account._id, mode: 'live', name })).secret;

describe('a flood of requests with one key', () => {
  it('leaves the other keys of its account their requests', async () => {
    const [flooding, other] = [await newKey('flooding'), await newKey('other')];
    const account = { requestsPerMinute: 40 };
    await service.accounts.setLimits(customer.account._id, account);
    // The keys of an account together have five times the limit of one key.
    const statuses = [];
    for (let n = 0; n < 6 * account.requestsPerMinute; n++) {
      statuses.push((await service.request('/account', { key: flooding })).status);
    }
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(account.requestsPerMinute);
    expect((await service.request('/account', { key: other })).status).toBe(200);
    await service.accounts.setLimits(customer.account._id, { requestsPerMinute: 10_000 });
  }, 60_000);
});

describe('renaming a key to the name it has', () => {
  it('makes no process read its keys again', async () => {
    const { key } = await service.apiKeys.create({ accountId: customer.account._id, mode: 'live', name: 'the same' });
    const change = jest.spyOn(service.database.credentials, 'change');
    const rename = (name: string) =>
      service.request(`/api_keys/${key.keyId}`, {
        method: 'PATCH',
        key: customer.liveKey,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      });
    expect(await rename('the same')).toMatchObject({ status: 200, json: { name: 'the same' } });
    expect(change).not.toHaveBeenCalled();
    expect(await rename('another')).toMatchObject({ status: 200, json: { name: 'another' } });
    expect(change).toHaveBeenCalledTimes(1);
    change.mockRestore();
  });
});

describe('an account that is given the name and the inbound agent that it has', () => {
  it('makes no process read its keys again', async () => {
    const change = jest.spyOn(service.database.credentials, 'change');
    const patch = (body: object) =>
      service.request('/account', {
        method: 'PATCH',
        key: customer.liveKey,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const given = { name: 'The same', inbound_agent_id: customer.agent._id };
    expect(await patch(given)).toMatchObject({ status: 200, json: given });
    change.mockClear();
    expect(await patch(given)).toMatchObject({ status: 200, json: given });
    expect(change).not.toHaveBeenCalled();
    expect((await patch({ inbound_agent_id: null })).json).not.toHaveProperty('inbound_agent_id');
    expect((await patch({ inbound_agent_id: null })).status).toBe(200);
    expect(change).toHaveBeenCalledTimes(1);
    change.mockRestore();
  });
});

describe('changes of keys that are repeated without end', () => {
  it('let the process read its keys again once a second', async () => {
    const { key } = await service.apiKeys.create({ accountId: customer.account._id, mode: 'live', name: 'old' });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const patch = {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ expires_at }),
    };
    for (const init of [patch, { method: 'DELETE' }]) {
      const send = () => service.request(`/api_keys/${key.keyId}`, { ...init, key: customer.liveKey });
      expect((await send()).status).toBe(200);
      const drops = jest.spyOn(service.database.credentials.cache, 'dropAll');
      const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await send()).status));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(drops.mock.calls.length).toBeGreaterThanOrEqual(1);
      expect(drops.mock.calls.length).toBeLessThanOrEqual(4);
      drops.mockRestore();
    }
  }, 30_000);
});
