import { routes } from '../../src/api/routes.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { createBrowser } from '../support/http/portal-support.js';

const DAY_MS = 24 * 3_600_000;
const NUMBER = '+12025550161';

let service: Service;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
}, 60_000);
afterAll(() => service.close());

const entriesOf = (accountId: string) => service.database.auditEntries.find({ accountId }).sort({ _id: 1 }).lean();

const agent = { name: 'A', instruction: 'Hi.' };

describe('a request that changes nothing adds no audit log entry', () => {
  it.each<[string, (who: Customer) => Promise<() => Promise<ServiceResponse>>]>([
    [
      'a revoked key is revoked again',
      async ({ testKey }) => {
        const { key_id: id } = (await ask.post('/api_keys', testKey, { name: 'k' })).json;
        return () => ask.delete(`/api_keys/${String(id)}`, testKey);
      },
    ],
    [
      'a key is updated with the name and expiry that it has',
      async ({ testKey }) => {
        const { key_id: id } = (await ask.post('/api_keys', testKey, { name: 'k' })).json;
        const expires_at = new Date(Date.now() + DAY_MS).toISOString();
        return () => ask.patch(`/api_keys/${String(id)}`, testKey, { name: 'other', expires_at });
      },
    ],
    [
      'an agent is updated with the values that it has',
      async ({ testKey }) => {
        const { agent_id: id } = (await ask.post('/agents', testKey, agent)).json;
        return () => ask.patch(`/agents/${String(id)}`, testKey, { name: 'B', instruction: 'Hello.' });
      },
    ],
    [
      'an archived agent is archived again',
      async ({ testKey }) => {
        const { agent_id: id } = (await ask.post('/agents', testKey, agent)).json;
        return () => ask.delete(`/agents/${String(id)}`, testKey);
      },
    ],
    [
      'the account is updated with the name and inbound agent that it has',
      async ({ liveKey, agent: { _id } }) =>
        () =>
          ask.patch('/account', liveKey, { name: 'Acme', inbound_agent_id: _id }),
    ],
    [
      'a number is given the agent that it has',
      async ({ liveKey, account, agent: { _id } }) => {
        await service.phoneNumbers.add({ number: NUMBER, accountId: account._id });
        return () => ask.patch(`/phone_numbers/${NUMBER}`, liveKey, { agent_id: _id });
      },
    ],
    [
      'webhook signing is turned off when it is off',
      async ({ liveKey }) => {
        await ask.post('/webhook_signing/rotate', liveKey, {});
        return () => ask.delete('/webhook_signing', liveKey);
      },
    ],
    [
      'an erased call is erased again',
      async (customer) => {
        const callId = await ask.endedCall(customer, { mode: 'live' });
        await service.database.calls.updateOne({ _id: callId }, { $set: { erasedAt: new Date() } });
        const { auditEntries } = service.database;
        await auditEntries.create([
          {
            _id: 'audit_of_the_erasure',
            accountId: customer.account._id,
            createdAt: new Date(),
            actorKind: 'key',
            actorId: 'k',
            actorName: 'k',
            action: 'eraseCall',
            requestId: 'r',
          },
        ]);
        return () => ask.post(`/calls/${callId}/erase`, customer.liveKey, {});
      },
    ],
  ])('%s', async (_name, prepare) => {
    const customer = await service.customer();
    const { _id } = customer.account;
    const change = await prepare(customer);
    expect((await change()).status).toBe(200);
    const once = await entriesOf(_id);
    expect(once.length).toBeGreaterThan(0);
    for (let n = 0; n < 3; n++) expect((await change()).status).toBe(200);
    expect((await entriesOf(_id)).map(({ action }) => action)).toEqual(once.map(({ action }) => action));
  });

  it('a member is given the role that they have, and has no session to end', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { account } = (await owner.get('/portal/session')).json as { account: { account_id: string } };
    const { account_id: accountId } = account;
    const userId = 'user_viewer';
    await service.database.users.create([
      {
        _id: userId,
        email: 'viewer@example.com',
        name: 'V',
        accountId,
        role: 'developer',
        passwordHash: 'none',
        createdAt: new Date(),
      },
    ]);
    const change = () => owner.send('PATCH', `/portal/members/${userId}`, { role: 'viewer' });
    expect((await change()).status).toBe(200);
    const once = await entriesOf(accountId);
    expect((await change()).status).toBe(200);
    expect(await entriesOf(accountId)).toHaveLength(once.length);
  });
});

describe('limits on changes keep audit log entries from being pushed out', () => {
  async function newOwner() {
    const browser = createBrowser(service);
    await browser.signUp();
    const { account } = (await browser.get('/portal/session')).json as { account: { account_id: string } };
    return { browser, accountId: account.account_id };
  }

  const useUp = (accountId: string, mode: string, by: string, points: number) =>
    service.database.rateLimits.updateOne(
      { key: `changes:${accountId}:${mode}:${by}` },
      { $set: { points, expire: new Date(Date.now() + DAY_MS) } },
      { upsert: true },
    );

  it('a test key is rejected from change 301 in 24 hours on, but can still revoke and archive what it made', async () => {
    const { account, testKey, liveKey } = await service.customer();
    const { key_id: keyId } = (await ask.post('/api_keys', testKey, { name: 'k' })).json;
    const { agent_id: agentId } = (await ask.post('/agents', testKey, agent)).json;
    await useUp(account._id, 'test', 'key', 299);
    expect((await ask.patch(`/agents/${String(agentId)}`, testKey, { name: 'B' })).status).toBe(200);
    const before = (await entriesOf(account._id)).length;
    for (const rejected of [
      await ask.post('/agents', testKey, agent),
      await ask.patch(`/agents/${String(agentId)}`, testKey, { name: 'C' }),
      await ask.post('/api_keys', testKey, { name: 'k' }),
    ]) {
      expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED', /300 changes in test mode .*revocations are still possible/);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(3_600);
    }
    expect(await entriesOf(account._id)).toHaveLength(before);
    expect((await ask.delete(`/api_keys/${String(keyId)}`, testKey)).status).toBe(200);
    expect((await ask.delete(`/agents/${String(agentId)}`, testKey)).status).toBe(200);
    expect(await entriesOf(account._id)).toHaveLength(before + 2);
    // A leaked test key that fills the log does not prevent changes in live mode.
    expect((await ask.post('/agents', liveKey, agent)).status).toBe(200);
  });

  it('a burst of changes gets exactly the changes that are left', async () => {
    const { account, testKey } = await service.customer();
    await useUp(account._id, 'test', 'key', 290);
    const burst = await Promise.all(Array.from({ length: 60 }, () => ask.post('/agents', testKey, agent)));
    expect(burst.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(burst.filter(({ status }) => status === 429)).toHaveLength(50);
    expect(await entriesOf(account._id)).toHaveLength(10);
  });

  it('a request that fails or changes nothing is not counted', async () => {
    const { account, testKey } = await service.customer();
    const { agent_id: agentId } = (await ask.post('/agents', testKey, agent)).json;
    await useUp(account._id, 'test', 'key', 299);
    const key = `changes:${account._id}:test:key`;
    const settled = async () =>
      eventually(async () => (await service.database.rateLimits.collection.findOne({ key }))?.['points'] === 299);
    for (let n = 0; n < 3; n++) {
      expect((await ask.patch(`/agents/${String(agentId)}`, testKey, { name: 'A' })).status).toBe(200);
      await settled();
      expect((await ask.patch('/agents/agent_00000000000000000000000000', testKey, { name: 'B' })).status).toBe(404);
      await settled();
    }
    expect((await ask.patch(`/agents/${String(agentId)}`, testKey, { name: 'B' })).status).toBe(200);
    expectError(await ask.patch(`/agents/${String(agentId)}`, testKey, { name: 'C' }), 429, 'RATE_LIMIT_EXCEEDED');
  });

  it('members are counted separately from keys, and an unverified account’s members have 50 changes', async () => {
    const { browser, accountId } = await newOwner();
    await useUp(accountId, 'test', 'key', 1_000);
    expect((await browser.post('/agents', agent)).status).toBe(200);
    await useUp(accountId, 'test', 'member', 50);
    expect((await browser.post('/agents', agent)).status).toBe(200);
    await service.database.accounts.updateOne({ _id: accountId }, { $set: { unverified: true } });
    expectError(await browser.post('/agents', agent), 429, 'RATE_LIMIT_EXCEEDED', /members have made 50 changes/);
  });

  it('the limits of keys and members in both modes add up to 1,000 changes of an account', async () => {
    const { browser, accountId } = await newOwner();
    const keyOf = async (mode: 'live' | 'test') =>
      (await service.apiKeys.create({ accountId, mode, name: mode })).secret;
    const [liveKey, testKey] = [await keyOf('live'), await keyOf('test')];
    const limits: number[] = [];
    for (const mode of ['live', 'test'] as const) {
      for (const by of ['key', 'member']) {
        await useUp(accountId, mode, by, 10_000);
        const rejected =
          by === 'member'
            ? await browser.post(`/agents?mode=${mode}`, agent)
            : await ask.post('/agents', mode === 'live' ? liveKey : testKey, agent);
        expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED', new RegExp(`${by}s .*${mode} mode`));
        limits.push(Number(rejected.json['limit']));
      }
    }
    expect(limits.reduce((sum, limit) => sum + limit, 0)).toBe(1_000);
  });

  it('an owner at the limit can still revoke keys, remove members and end sessions, and the audit log shows it', async () => {
    const { browser, accountId } = await newOwner();
    const { key } = await service.apiKeys.create({ accountId, mode: 'live', name: 'stolen' });
    const userId = 'user_thief';
    const thief = { _id: userId, email: 'thief@example.com', name: 'T', accountId, role: 'developer' as const };
    await service.database.users.create([{ ...thief, passwordHash: 'none', createdAt: new Date() }]);
    for (const mode of ['live', 'test']) await useUp(accountId, mode, 'member', 10_000);
    expectError(await browser.patch('/account', { name: 'Mine' }), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await browser.send('DELETE', `/api_keys/${key.keyId}?mode=live`)).status).toBe(200);
    expect((await browser.send('DELETE', `/portal/members/${userId}`)).status).toBe(200);
    expect((await browser.post('/portal/log-out-everywhere')).status).toBe(200);
    const recorded = (await entriesOf(accountId)).map(({ action }) => action);
    expect(recorded.slice(-3)).toEqual(['revokeApiKey', 'removeMember', 'logOutEverywhere']);
  });

  it('operations without a limit on changes remove something or are limited by existing calls and invitations', () => {
    const all: [string, Route][] = Object.entries(routes);
    expect(all.filter(([, { bounded }]) => bounded).map(([id]) => id)).toEqual([
      'cancelCall',
      'eraseCall',
      'inviteMember',
    ]);
    expect(all.filter(([, { unaudited }]) => unaudited).map(([id]) => id)).toEqual(
      expect.arrayContaining(['redeliverWebhook']),
    );
  });

  it('entries of test mode are deleted after 30 days, those of live mode never', async () => {
    const { account, testKey, liveKey } = await service.customer();
    await ask.post('/agents', testKey, agent);
    await ask.post('/agents', liveKey, agent);
    const [test, live] = await entriesOf(account._id);
    expect(test?.expiresAt?.getTime()).toBe((test?.createdAt.getTime() ?? 0) + 30 * DAY_MS);
    expect(live).not.toHaveProperty('expiresAt');
    const indexes = await service.database.auditEntries.collection.indexes();
    expect(indexes.find(({ key }) => 'expiresAt' in key)).toMatchObject({ expireAfterSeconds: 0 });
  });
});
