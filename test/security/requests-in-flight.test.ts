import { createEmailLinks } from '../../src/identity/people/email-links.js';
import { createMembers } from '../../src/identity/people/members.js';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD, type Browser } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));
afterEach(() => jest.restoreAllMocks());

const NEW_PASSWORD = 'another horse battery';
const newOwner = async () => {
  const browser = createBrowser(service);
  const email = await browser.signUp();
  const { member, account } = (await browser.get('/portal/session')).json as {
    member: { user_id: string };
    account: { account_id: string };
  };
  return { browser, email, userId: member.user_id, accountId: account.account_id };
};
const reset = async (userId: string) => {
  const token = await createEmailLinks(service.database).issue(userId, 'reset');
  const body = { token, new_password: NEW_PASSWORD };
  expect((await createBrowser(service).post('/portal/reset-password', body)).status).toBe(200);
};
const activeKeys = async (accountId: string) =>
  (await service.apiKeys.list(accountId)).filter(({ revokedAt }) => !revokedAt).map(({ name }) => name);
const accept = (token: unknown) =>
  createBrowser(service).post('/portal/accept-invitation', { token, name: 'Grace', password: PASSWORD });

/**
 * Runs a function at a critical moment of a request: after the service has checked the sender, and before its next
 * database write.
 */
function beforeNextWrite(
  model: 'apiKeys' | 'invitations' | 'users',
  method: 'create' | 'updateOne',
  happen: () => Promise<unknown>,
) {
  const of = service.database[model] as unknown as Record<string, (...args: unknown[]) => unknown>;
  const original = of[method]!.bind(of);
  jest.spyOn(of, method).mockImplementationOnce(async (...args) => {
    await happen();
    return original(...args);
  });
}

describe('a password reset overrides requests in flight', () => {
  it('for a new API key', async () => {
    const { browser, userId, accountId } = await newOwner();
    beforeNextWrite('apiKeys', 'create', () => reset(userId));
    expectError(await browser.post('/api_keys', { name: 'survivor' }), 401, 'UNAUTHORIZED');
    expect(await activeKeys(accountId)).not.toContain('survivor');
  });

  it('for an earlier reset that was delayed', async () => {
    const { browser, email, userId } = await newOwner();
    const token = await createEmailLinks(service.database).issue(userId, 'reset');
    beforeNextWrite('users', 'updateOne', () => reset(userId));
    const late = { token, new_password: `${NEW_PASSWORD} of before` };
    expectError(await browser.post('/portal/reset-password', late), 409, 'CONFLICT', /changed meanwhile/);
    const logIn = await createBrowser(service).post('/portal/log-in', { email, password: NEW_PASSWORD });
    expect(logIn.status).toBe(200);
  });

  it('for a later expiry of an API key', async () => {
    const { browser, userId, accountId } = await newOwner();
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { key } = await service.apiKeys.create({ accountId, mode: 'test', name: 'short', expiresAt });
    const of = service.database.apiKeys as unknown as Record<string, (...args: unknown[]) => unknown>;
    const original = of['findOneAndUpdate']!.bind(of);
    jest.spyOn(of, 'findOneAndUpdate').mockImplementationOnce((...args) => ({
      lean: async () => {
        await reset(userId);
        return (original(...args) as { lean: () => Promise<unknown> }).lean();
      },
    }));
    expectError(await browser.patch(`/api_keys/${key.keyId}`, { expires_at: null, name: 'long' }), 401, 'UNAUTHORIZED');
    expect(await service.apiKeys.find({ accountId, mode: 'test', keyId: key.keyId })).toMatchObject({
      name: 'short',
      expiresAt,
    });
  });

  it('for an invitation', async () => {
    const { browser, userId, accountId } = await newOwner();
    beforeNextWrite('invitations', 'create', () => reset(userId));
    const body = { email: 'accomplice@example.com', role: 'owner' };
    expectError(await browser.post('/portal/invitations', body), 401, 'UNAUTHORIZED');
    expect(await service.database.invitations.countDocuments({ accountId })).toBe(0);
  });

  it('for the acceptance of an earlier invitation', async () => {
    const { browser, userId, accountId } = await newOwner();
    const { json } = await browser.post('/portal/invitations', { email: 'early@example.com', role: 'owner' });
    beforeNextWrite('users', 'create', () => reset(userId));
    expectError(await accept(json['token']), 404, 'NOT_FOUND');
    expect(await service.database.users.countDocuments({ accountId })).toBe(1);
    expectError(await accept(json['token']), 404, 'NOT_FOUND');
  });
});

describe('the removal of a member or key overrides requests in flight', () => {
  const withSecond = async () => {
    const first = await newOwner();
    const second = await memberOf(service, first.browser, 'owner');
    const removeSecond = async () => {
      expect((await first.browser.delete(`/portal/members/${second.userId}`)).status).toBe(200);
    };
    return { first, second, removeSecond };
  };

  it('for another member’s higher role', async () => {
    const { first, second, removeSecond } = await withSecond();
    const viewer = await memberOf(service, first.browser, 'viewer');
    beforeNextWrite('users', 'updateOne', removeSecond);
    const raised = await second.browser.patch(`/portal/members/${viewer.userId}`, { role: 'owner' });
    expectError(raised, 401, 'UNAUTHORIZED');
    expect(await createMembers(service.database).find(first.accountId, viewer.userId)).toMatchObject({
      role: 'viewer',
    });
  });

  it('for another member’s higher role, which is not restored if it was lowered meanwhile', async () => {
    const { first, second, removeSecond } = await withSecond();
    const third = await memberOf(service, first.browser, 'owner');
    const { users } = service.database;
    const write = users.updateOne.bind(users) as (...args: unknown[]) => unknown;
    let writes = 0;
    // The sender is removed before the change, and its object becomes a viewer before the change is reverted.
    jest.spyOn(users, 'updateOne').mockImplementation((async (
      ...args: [{ _id: string }, { $set?: { role?: string } }]
    ) => {
      const [{ _id }, { $set }] = args;
      if (_id === third.userId && $set?.role !== undefined) {
        writes += 1;
        if (writes === 1) await removeSecond();
        else await users.collection.updateOne({ _id: _id as never }, { $set: { role: 'viewer' } });
      }
      return write(...args);
    }) as never);
    const lowered = await second.browser.patch(`/portal/members/${third.userId}`, { role: 'developer' });
    expectError(lowered, 401, 'UNAUTHORIZED');
    expect(writes).toBe(2);
    expect(await createMembers(service.database).find(first.accountId, third.userId)).toMatchObject({ role: 'viewer' });
  });

  it('for a number that another account has taken meanwhile', async () => {
    const [first, second] = [await service.customer(), await service.customer()];
    const number = '+12025550187';
    await service.phoneNumbers.add({ number, accountId: first.account._id });
    const { phoneNumbers } = service.database;
    const write = phoneNumbers.updateOne.bind(phoneNumbers);
    jest.spyOn(phoneNumbers, 'updateOne').mockImplementationOnce((async (...args: Parameters<typeof write>) => {
      const taken = { $set: { accountId: second.account._id } };
      await phoneNumbers.collection.updateOne({ _id: number as never }, taken);
      return write(...args);
    }) as never);
    const changed = service.phoneNumbers.setAgent(number, first.agent._id);
    await expect(changed).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await service.phoneNumbers.find(number))?.agentId).toBeUndefined();
  });

  it('for a body that was delayed by less than half a second', async () => {
    const { account, liveKey } = await service.customer();
    const body = JSON.stringify({ name: 'survivor' });
    const held = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(body.slice(0, 3)));
        await new Promise((resolve) => setTimeout(resolve, 200));
        for (const { keyId } of await service.apiKeys.list(account._id)) await service.apiKeys.revoke(keyId);
        controller.enqueue(Buffer.from(body.slice(3)));
        controller.close();
      },
    });
    const response = await fetch(`${service.baseUrl}/api_keys`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${liveKey}`, 'Content-Type': 'application/json' },
      body: held,
      duplex: 'half',
    });
    expect(response.status).toBe(401);
    expect(await activeKeys(account._id)).toEqual([]);
  });
});

describe('an invitation ends with its inviter’s right to invite', () => {
  it.each<[string, (first: Browser, userId: string, inviter: Browser) => Promise<unknown>]>([
    ['is removed', (first, userId) => first.delete(`/portal/members/${userId}`)],
    ['gets a lower role', (first, userId) => first.patch(`/portal/members/${userId}`, { role: 'developer' })],
    ['resets the password', (_first, userId) => reset(userId)],
    [
      'changes the password',
      (_first, _userId, inviter) =>
        inviter.post('/portal/password', { current_password: PASSWORD, new_password: NEW_PASSWORD }),
    ],
  ])('if the inviter %s', async (_what, happen) => {
    const { browser, accountId } = await newOwner();
    const inviter = await memberOf(service, browser, 'owner');
    const body = { email: `friend-of-${inviter.userId.toLowerCase()}@example.com`, role: 'owner' };
    const { json } = await inviter.browser.post('/portal/invitations', body);
    await happen(browser, inviter.userId, inviter.browser);
    expectError(await accept(json['token']), 404, 'NOT_FOUND');
    expect(await service.database.users.countDocuments({ accountId, email: body.email })).toBe(0);
  });

  it('but not when another owner leaves', async () => {
    const { browser, accountId } = await newOwner();
    const leaver = await memberOf(service, browser, 'owner');
    const { json } = await browser.post('/portal/invitations', { email: 'stays@example.com', role: 'viewer' });
    await browser.delete(`/portal/members/${leaver.userId}`);
    expect((await accept(json['token'])).json).toMatchObject({ account: { account_id: accountId } });
  });
});
