import { ulid } from 'ulid';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

let service: Service;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
}, 120_000);
afterAll(() => service.close());

const HOUR = 3_600_000;

/** Stores keys as if requests with a leaked key had created them. */
async function storeKeys({ account }: Customer, count: number, fields: object): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    _id: `${account._id} ${ulid()}`,
    keyId: `key_${ulid()}`,
    accountId: account._id,
    name: 'made',
    prefix: 'p',
    lastFour: 'last',
    ancestors: ['key_leaked'],
    createdAt: new Date(Date.now() - HOUR + n),
    ...fields,
  }));
  await service.database.apiKeys.collection.insertMany(rows as never);
}

async function storeAgents({ account, agent }: Customer, count: number, fields: object): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    ...agent,
    _id: `agent_${ulid()}`,
    accountId: account._id,
    createdAt: new Date(Date.now() - HOUR + n),
    ...fields,
  }));
  await service.database.agents.collection.insertMany(rows as never);
}

const makeKey = (key: string) => ask.post('/api_keys', key, { name: 'rotated' });
const makeAgent = (key: string) => ask.post('/agents', key, { name: 'A', instruction: 'Hi.' });

describe('keys that a leaked key has made', () => {
  it.each([
    ['of the other mode', { mode: 'test' }],
    ['that are revoked', { mode: 'live', revokedAt: new Date() }],
    ['that are expired', { mode: 'live', expiresAt: new Date(Date.now() - 1_000) }],
  ])('do not prevent the creation of another key: 500 %s', async (_name, fields) => {
    const customer = await service.customer();
    await storeKeys(customer, 500, fields);
    expect((await makeKey(customer.liveKey)).status).toBe(200);
    const count = await service.database.apiKeys.countDocuments({ accountId: customer.account._id, mode: 'live' });
    expect(count).toBeLessThanOrEqual(500);
  });

  it('are deleted before the revoked keys of members', async () => {
    const customer = await service.customer();
    await storeKeys(customer, 1, { mode: 'live', revokedAt: new Date(Date.now() - HOUR), ancestors: undefined });
    await storeKeys(customer, 500, { mode: 'live', revokedAt: new Date() });
    expect((await makeKey(customer.liveKey)).status).toBe(200);
    const { _id: accountId } = customer.account;
    const kept = { accountId, revokedAt: { $ne: null }, ancestors: null };
    expect(await service.database.apiKeys.countDocuments(kept)).toBe(1);
  });

  it('do not count towards the 100 active keys of members', async () => {
    const customer = await service.customer();
    await storeKeys(customer, 100, { mode: 'live' });
    expect((await makeKey(customer.liveKey)).status).toBe(409);
    const { _id: accountId } = customer.account;
    const [byMembers, all] = await Promise.all([
      service.apiKeys.countActive({ accountId, mode: 'live' }, { madeBy: 'members' }),
      service.apiKeys.countActive({ accountId, mode: 'live' }),
    ]);
    expect({ byMembers, all }).toEqual({ byMembers: 1, all: 101 });
  });
});

describe('agents that a leaked key has made', () => {
  it.each([
    ['test agents', { mode: 'test' }],
    ['archived test agents', { mode: 'test', archivedAt: new Date() }],
    ['archived live agents', { mode: 'live', archivedAt: new Date() }],
  ])('do not prevent the creation of a live agent: 1,000 %s', async (_name, fields) => {
    const customer = await service.customer();
    await storeAgents(customer, 1_000, fields);
    expect((await makeAgent(customer.liveKey)).status).toBe(200);
    const { _id: accountId } = customer.account;
    expect(await service.database.agents.countDocuments({ accountId })).toBeLessThanOrEqual(1_002);
  });

  it('are deleted in the order of archiving, but not while one receives calls', async () => {
    const customer = await service.customer();
    const { _id: accountId } = customer.account;
    const [first, second] = [`agent_${ulid()}`, `agent_${ulid()}`];
    await storeAgents(customer, 1, { _id: first, mode: 'live', archivedAt: new Date(Date.now() - 2 * HOUR) });
    await storeAgents(customer, 1, { _id: second, mode: 'live', archivedAt: new Date(Date.now() - HOUR) });
    await storeAgents(customer, 998, { mode: 'live', archivedAt: new Date() });
    // Stores the state that results if an agent is archived at the moment when it becomes the account's inbound agent.
    await service.database.accounts.updateOne({ _id: accountId }, { $set: { inboundAgentId: first } });
    expect((await makeAgent(customer.liveKey)).status).toBe(200);
    const left = await service.database.agents.find({ _id: { $in: [first, second] } }, { _id: 1 }).lean();
    expect(left.map(({ _id }) => _id)).toEqual([first]);
  });

  it('are limited to 1,000 active ones per mode', async () => {
    const customer = await service.customer();
    await storeAgents(customer, 999, { mode: 'live' });
    const rejected = await makeAgent(customer.liveKey);
    expect(rejected.status).toBe(409);
    expect(rejected.json['message']).toMatch(/1000 agents .* Archive an agent/);
    expect((await makeAgent(customer.testKey)).status).toBe(200);
  });
});
