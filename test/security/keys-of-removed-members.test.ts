import { createEmailLinks } from '../../src/identity/people/email-links.js';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD, type Browser } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

const NEW_PASSWORD = 'another horse battery';
const statusOf = async (key: string) => (await service.request('/account', { key })).status;
const statusesOf = (keys: string[]) => Promise.all(keys.map(statusOf));

/** Creates a live key and a test key of the member. With each of these keys, creates a second key. */
async function keysOf(browser: Browser): Promise<string[]> {
  const keys: string[] = [];
  for (const mode of ['live', 'test']) {
    const { json } = await browser.post(`/api_keys?mode=${mode}`, { name: 'backend' });
    const child = await service.request('/api_keys', {
      method: 'POST',
      key: String(json['secret']),
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'made by a key' }),
    });
    keys.push(String(json['secret']), String(child.json['secret']));
  }
  expect(await statusesOf(keys)).toEqual([200, 200, 200, 200]);
  return keys;
}

async function twoOwners() {
  const owner = createBrowser(service);
  const email = await owner.signUp();
  const other = await memberOf(service, owner, 'owner');
  return { owner, email, other, ofOwner: await keysOf(owner), ofOther: await keysOf(other.browser) };
}

/** Returns how many revocations of keys are in the account's audit log. */
async function revocations(owner: Browser): Promise<number> {
  const { json } = await owner.get('/audit_log?limit=100');
  return (json['data'] as { action: string }[]).filter(({ action }) => action === 'revokeApiKey').length;
}

describe('the API keys that an owner has made', () => {
  it.each([
    ['is removed', (owner: Browser, userId: string) => owner.delete(`/portal/members/${userId}`)],
    [
      'is no longer an owner',
      (owner: Browser, id: string) => owner.patch(`/portal/members/${id}`, { role: 'developer' }),
    ],
  ])('are revoked with the keys made with them when the owner %s; keys of others remain valid', async (_, end) => {
    const { owner, other, ofOwner, ofOther } = await twoOwners();
    expect((await end(owner, other.userId)).status).toBe(200);
    expect(await statusesOf(ofOther)).toEqual([401, 401, 401, 401]);
    expect(await statusesOf(ofOwner)).toEqual([200, 200, 200, 200]);
    expect(await revocations(owner)).toBe(4);
  });

  it('remain valid while the owner keeps the role, or when a removal is rejected', async () => {
    const { owner, other, ofOwner, ofOther } = await twoOwners();
    expect((await owner.patch(`/portal/members/${other.userId}`, { role: 'owner' })).status).toBe(200);
    const members = (await owner.get('/portal/members')).json['data'] as { user_id: string }[];
    const ownId = members.find(({ user_id: id }) => id !== other.userId)?.user_id;
    expect((await owner.delete(`/portal/members/${other.userId}`)).status).toBe(200);
    expect((await owner.delete(`/portal/members/${ownId}`)).status).toBe(409);
    expect(await statusesOf([...ofOwner, ...ofOther])).toEqual([200, 200, 200, 200, 401, 401, 401, 401]);
  });
});

describe('a new password', () => {
  const ways: [string, (p: { browser: Browser; email: string }, revokes: object) => ReturnType<Browser['post']>][] = [
    [
      'from a reset link',
      async ({ email }, revokes) => {
        const user = await service.database.users.findOne({ email }).lean();
        const token = await createEmailLinks(service.database).issue(user!._id, 'reset');
        return createBrowser(service).post('/portal/reset-password', { token, new_password: NEW_PASSWORD, ...revokes });
      },
    ],
    [
      'from the current one',
      ({ browser }, revokes) =>
        browser.post('/portal/password', { current_password: PASSWORD, new_password: NEW_PASSWORD, ...revokes }),
    ],
  ];

  it.each(ways)('%s revokes no keys by default, and the person’s own keys on request', async (_, change) => {
    const { owner, email, other, ofOwner, ofOther } = await twoOwners();
    const kept = await change({ browser: other.browser, email: other.email }, {});
    expect(kept.status).toBe(200);
    if ('active_api_keys' in kept.json) expect(kept.json['active_api_keys']).toBe(4);
    expect(await statusesOf(ofOther)).toEqual([200, 200, 200, 200]);
    const ended = await change({ browser: owner, email }, { revoke_api_keys: true });
    expect(ended.status).toBe(200);
    if ('active_api_keys' in ended.json) expect(ended.json['active_api_keys']).toBe(0);
    expect(await statusesOf([...ofOwner, ...ofOther])).toEqual([401, 401, 401, 401, 200, 200, 200, 200]);
  });
});
