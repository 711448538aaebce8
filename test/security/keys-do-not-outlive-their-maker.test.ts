import { expectError, startService, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
}, 120_000);
afterAll(() => service.close());

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);
const statusOf = async (key: string) => (await service.request('/account', { key })).status;

async function expiringKey() {
  const { account } = await service.customer();
  const expiresAt = inMinutes(60);
  const made = await service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'expiring', expiresAt });
  return { account, expiresAt, ...made };
}

describe('a key that expires', () => {
  it('extends neither its own life nor that of another key', async () => {
    const { account, secret, key, expiresAt } = await expiringKey();
    const { patch } = managementOf(service);
    const other = await service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'other' });
    for (const keyId of [key.keyId, other.key.keyId]) {
      for (const expiry of [null, inMinutes(61).toISOString()]) {
        const rejected = await patch(`/api_keys/${keyId}`, secret, { expires_at: expiry });
        expectError(rejected, 403, 'FORBIDDEN', /expires_at must not be later/);
      }
    }
    const listed = await service.apiKeys.list(account._id);
    expect(listed.find(({ keyId }) => keyId === key.keyId)?.expiresAt).toEqual(expiresAt);
    expect((await patch(`/api_keys/${key.keyId}`, secret, { expires_at: inMinutes(30).toISOString() })).status).toBe(
      200,
    );
  });

  it('creates no key that lives longer', async () => {
    const { account, secret, key, expiresAt } = await expiringKey();
    const { post } = managementOf(service);
    const later = await post('/api_keys', secret, { name: 'later', expires_at: inMinutes(61).toISOString() });
    expectError(later, 403, 'FORBIDDEN', /expires_at must not be later/);
    const { json } = await post('/api_keys', secret, { name: 'made' });
    expect(json['expires_at']).toBe(expiresAt.toISOString());
    const sooner = inMinutes(10);
    await service.apiKeys.update(key.keyId, { expiresAt: sooner });
    const made = (await service.apiKeys.list(account._id)).find(({ keyId }) => keyId === json['key_id']);
    expect(made?.expiresAt).toEqual(sooner);
  });
});

describe('a key that is revoked', () => {
  it('ends together with the keys made with it and with those, and no others', async () => {
    const { liveKey, account } = await service.customer();
    const { post } = managementOf(service);
    const child = await post('/api_keys', liveKey, { name: 'child' });
    const grandchild = await post('/api_keys', String(child.json['secret']), { name: 'grandchild' });
    const other = await service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'other' });
    const { key } = (await service.apiKeys.authenticate(liveKey))!;
    await service.apiKeys.revoke(key.keyId);
    for (const { json } of [child, grandchild]) expect(await statusOf(String(json['secret']))).toBe(401);
    expect(await statusOf(other.secret)).toBe(200);
  });
});

describe('keys made with a key', () => {
  it('share its requests per minute', async () => {
    const { liveKey, account } = await service.customer();
    const { post } = managementOf(service);
    const secrets = [liveKey];
    for (let n = 0; n < 3; n++) {
      const { json } = await post('/api_keys', secrets.at(-1)!, { name: `key ${n}` });
      secrets.push(String(json['secret']));
    }
    await service.database.rateLimits.deleteMany({});
    await service.accounts.setLimits(account._id, { requestsPerMinute: 8 });
    const statuses = [];
    for (let n = 0; n < 12; n++) statuses.push(await statusOf(secrets[n % secrets.length]!));
    expect(statuses.filter((status) => status === 200).length).toBe(8);
  });
});
