import { createMembers } from '../../src/identity/people/members.js';
import { startService, type Service } from '../support/http/harness.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
afterEach(() => jest.restoreAllMocks());

/** Invites a member who then has an account but has not verified the address. */
async function unverifiedMember(role: 'owner' | 'viewer') {
  const { account } = await service.customer();
  const _id = `user_${account._id}`;
  const email = `${account._id.toLowerCase()}@example.com`;
  const user = { _id, email, name: 'Grace', accountId: account._id, role, passwordHash: 'none', createdAt: new Date() };
  await service.database.unverifiedUsers.create([{ ...user, invited: true, unverified: true }]);
  return { userId: _id, accountId: account._id, members: createMembers(service.database) };
}

/** Runs a function once, right before the next call of a method of this model. */
function before(model: 'users' | 'unverifiedUsers', method: 'create' | 'deleteOne', happen: () => Promise<unknown>) {
  const of = service.database[model] as unknown as Record<string, (...args: unknown[]) => unknown>;
  const original = of[method]!.bind(of);
  jest.spyOn(of, method).mockImplementationOnce(async (...args) => {
    await happen();
    return original(...args);
  });
}

const isMember = async (userId: string) =>
  (await service.database.users.exists({ _id: userId })) !== null ||
  (await service.database.unverifiedUsers.exists({ _id: userId })) !== null;

describe('a removed member stays removed', () => {
  it('if the address is verified during the removal', async () => {
    const { userId, accountId, members } = await unverifiedMember('viewer');
    before('unverifiedUsers', 'deleteOne', () => members.verify({ _id: userId }));
    await members.remove(accountId, userId);
    expect(await isMember(userId)).toBe(false);
  });

  it('if the removal happens during the verification: it is rejected with a conflict and succeeds later', async () => {
    const { userId, accountId, members } = await unverifiedMember('viewer');
    const rejections: unknown[] = [];
    before('users', 'create', () => members.remove(accountId, userId).catch((error) => rejections.push(error)));
    await members.verify({ _id: userId });
    expect(rejections).toEqual([expect.objectContaining({ code: 'CONFLICT' })]);
    await members.remove(accountId, userId);
    expect(await isMember(userId)).toBe(false);
  });
});

it('a lower role stays in place if the address is verified during the change', async () => {
  const { userId, accountId, members } = await unverifiedMember('owner');
  await service.database.users.create([
    {
      _id: `other_${userId}`,
      email: `other-${userId.toLowerCase()}@example.com`,
      name: 'Ada',
      accountId,
      role: 'owner',
      passwordHash: 'none',
      createdAt: new Date(),
    },
  ]);
  before('users', 'create', () => members.setRole(accountId, userId, 'viewer'));
  await members.verify({ _id: userId });
  expect(await members.find(accountId, userId)).toMatchObject({ role: 'viewer' });
});
