import { createMembers } from '../../src/identity/people/members.js';
import { startService, type Service } from '../support/http/harness.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
afterEach(() => jest.restoreAllMocks());

/** An invited member who has not verified the address. */
async function unverifiedMember(role: 'owner' | 'viewer') {
  const { account } = await service.customer();
  const _id = `user_${account._id}`;
  const email = `${account._id.toLowerCase()}@example.com`;
  const user = { _id, email, name: 'Grace', accountId: account._id, role, passwordHash: 'none', createdAt: new Date() };
  await service.database.unverifiedUsers.create([{ ...user, invited: true, unverified: true }]);
  return { userId: _id, accountId: account._id, members: createMembers(service.database) };
}

/** Lets something happen once, before the next call of a model's method. */
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

describe('a member who was removed stays removed', () => {
  it('when the address is verified in the middle of the removal', async () => {
    const { userId, accountId, members } = await unverifiedMember('viewer');
    before('unverifiedUsers', 'deleteOne', () => members.verify({ _id: userId }));
    await members.remove(accountId, userId);
    expect(await isMember(userId)).toBe(false);
  });

  it('or when the removal comes in the middle of the verification, which it asks to wait for', async () => {
    const { userId, accountId, members } = await unverifiedMember('viewer');
    const refusals: unknown[] = [];
    before('users', 'create', () => members.remove(accountId, userId).catch((error) => refusals.push(error)));
    await members.verify({ _id: userId });
    expect(refusals).toEqual([expect.objectContaining({ code: 'CONFLICT' })]);
    await members.remove(accountId, userId);
    expect(await isMember(userId)).toBe(false);
  });
});

it('a role that was taken away stays so when the address is verified in the middle of it', async () => {
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
