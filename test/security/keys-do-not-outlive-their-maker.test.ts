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

describe('an expiry that is shortened while a key is used', () => {
  const sooner = inMinutes(10);
  const expiryOf = async (accountId: string, keyId: unknown) =>
    (await service.apiKeys.list(accountId)).find((key) => key.keyId === keyId)?.expiresAt;

  /** Runs a function after the service has read the keys, and before its next write of them. */
  function beforeNextWrite(method: 'create' | 'findOneAndUpdate', happen: () => Promise<unknown>): void {
    const of = service.database.apiKeys as unknown as Record<string, (...args: unknown[]) => unknown>;
    const original = of[method]!.bind(of);
    const write = async (args: unknown[]) => {
      await happen();
      const query = original(...args);
      return method === 'create' ? query : (query as { lean: () => Promise<unknown> }).lean();
    };
    jest
      .spyOn(of, method)
      .mockImplementationOnce((...args) => (method === 'create' ? write(args) : { lean: () => write(args) }));
  }
  afterEach(() => jest.restoreAllMocks());

  it('applies to a key that the key is just creating', async () => {
    const { account, secret, key } = await expiringKey();
    beforeNextWrite('create', () => service.apiKeys.update(key.keyId, { expiresAt: sooner }));
    const { json } = await managementOf(service).post('/api_keys', secret, { name: 'child' });
    expect(json['expires_at']).toBe(sooner.toISOString());
    expect(await expiryOf(account._id, json['key_id'])).toEqual(sooner);
  });

  it('applies to a key that a key created by it is just creating, with or without an expiry in the request', async () => {
    const { account } = await service.customer();
    const first = await service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'first' });
    const { post } = managementOf(service);
    const second = (await post('/api_keys', first.secret, { name: 'second' })).json;
    for (const expiry of [{}, { expires_at: inMinutes(30).toISOString() }]) {
      await service.apiKeys.update(first.key.keyId, { expiresAt: null });
      await service.apiKeys.update(String(second['key_id']), { expiresAt: null });
      beforeNextWrite('create', () => service.apiKeys.update(first.key.keyId, { expiresAt: sooner }));
      const { json } = await post('/api_keys', String(second['secret']), { name: 'third', ...expiry });
      expect(await expiryOf(account._id, json['key_id'])).toEqual(sooner);
    }
  });

  it('does not lengthen a key that has a sooner expiry', async () => {
    const { account, secret, key } = await expiringKey();
    const soonest = inMinutes(5);
    beforeNextWrite('create', () => service.apiKeys.update(key.keyId, { expiresAt: sooner }));
    const { json } = await managementOf(service).post('/api_keys', secret, {
      name: 'child',
      expires_at: soonest.toISOString(),
    });
    expect(await expiryOf(account._id, json['key_id'])).toEqual(soonest);
  });

  it('is not undone by a change of the key itself', async () => {
    const { account, secret, key } = await expiringKey();
    beforeNextWrite('findOneAndUpdate', () => service.apiKeys.update(key.keyId, { expiresAt: sooner }));
    const later = { expires_at: inMinutes(50).toISOString() };
    expectError(await managementOf(service).patch(`/api_keys/${key.keyId}`, secret, later), 409, 'CONFLICT');
    expect(await expiryOf(account._id, key.keyId)).toEqual(sooner);
  });

  it('is not undone by a request whose own change is reverted', async () => {
    const { account, key: before } = await expiringKey();
    const made = await service.apiKeys.update(before.keyId, { expiresAt: inMinutes(90) });
    await service.apiKeys.update(before.keyId, { expiresAt: sooner });
    await service.apiKeys.restore(made);
    expect(await expiryOf(account._id, before.keyId)).toEqual(sooner);
  });

  it('is undone together with those of the keys that the key created', async () => {
    const { account, key, secret } = await expiringKey();
    const child = await managementOf(service).post('/api_keys', secret, { name: 'child' });
    const childId = String(child.json['key_id']);
    const before = await expiryOf(account._id, childId);
    await service.apiKeys.restore(await service.apiKeys.update(key.keyId, { expiresAt: sooner }));
    expect(await expiryOf(account._id, childId)).toEqual(before);
    expect(await expiryOf(account._id, key.keyId)).toEqual(key.expiresAt);
  });

  it('stays in force for the keys that the key created if the key’s expiry is changed again before', async () => {
    const { account, key, secret } = await expiringKey();
    const child = await managementOf(service).post('/api_keys', secret, { name: 'child' });
    const made = await service.apiKeys.update(key.keyId, { expiresAt: sooner });
    const again = new Date(sooner.getTime() + 60_000);
    await service.apiKeys.update(key.keyId, { expiresAt: again });
    await service.apiKeys.restore(made);
    expect(await expiryOf(account._id, key.keyId)).toEqual(again);
    expect(await expiryOf(account._id, child.json['key_id'])).toEqual(sooner);
  });

  it('ends a key with the key that made it if that one is shortened before it is undone', async () => {
    const { account, key, secret } = await expiringKey();
    const { json } = await managementOf(service).post('/api_keys', secret, { name: 'child' });
    const made = await service.apiKeys.update(String(json['key_id']), { expiresAt: sooner });
    const between = inMinutes(20);
    await service.apiKeys.update(key.keyId, { expiresAt: between });
    await service.apiKeys.restore(made);
    expect(await expiryOf(account._id, json['key_id'])).toEqual(between);
  });

  it('also ends the keys that a key has created while it had a later expiry, which is undone', async () => {
    const { account, key, secret, expiresAt } = await expiringKey();
    const later = inMinutes(90);
    const made = await service.apiKeys.update(key.keyId, { expiresAt: later });
    const { json } = await managementOf(service).post('/api_keys', secret, { name: 'child' });
    expect(await expiryOf(account._id, json['key_id'])).toEqual(later);
    await service.apiKeys.restore(made);
    expect(await expiryOf(account._id, json['key_id'])).toEqual(expiresAt);
  });

  it('ends a key whose ancestor is revoked while it is created', async () => {
    const { account, key } = await expiringKey();
    beforeNextWrite('create', () => service.apiKeys.revoke(key.keyId));
    const child = service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'child', madeBy: key });
    await expect(child).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    const left = (await service.apiKeys.list(account._id)).filter(({ revokedAt }) => !revokedAt);
    expect(left.map(({ name }) => name)).not.toContain('child');
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
