import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD } from '../support/http/portal-support.js';
import { listOf } from '../support/http/management-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

const newOwner = async () => {
  const owner = createBrowser(service);
  await owner.signUp();
  return owner;
};
const accept = (token: unknown) =>
  createBrowser(service).post('/portal/accept-invitation', { token, name: 'Grace', password: PASSWORD });

describe('an invitation', () => {
  it('can still be used after accepting it failed with a conflict', async () => {
    const owner = await newOwner();
    const email = 'grace@hopper.example';
    const { json } = await owner.post('/portal/invitations', { email, role: 'developer' });
    const elsewhere = createBrowser(service);
    await elsewhere.signUp(email);
    expectError(await accept(json['token']), 409, 'CONFLICT');
    await service.database.users.deleteOne({ email });
    expect((await accept(json['token'])).json).toMatchObject({ member: { email, role: 'developer' } });
    expectError(await accept(json['token']), 404, 'NOT_FOUND');
  });

  it('admits one person when it is accepted several times at once', async () => {
    const owner = await newOwner();
    const { json } = await owner.post('/portal/invitations', { email: 'at-once@example.com', role: 'viewer' });
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => accept(json['token'])))).map((a) => a.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await service.database.users.countDocuments({ email: 'at-once@example.com' })).toBe(1);
  });

  it('does not readmit a removed member', async () => {
    const owner = await newOwner();
    const email = 'removed@example.com';
    const invite = async () => (await owner.post('/portal/invitations', { email, role: 'owner' })).json['token'];
    const [first, second] = [await invite(), await invite()];
    const joined = await accept(first);
    const { user_id: userId } = joined.json['member'] as { user_id: string };
    expect((await owner.delete(`/portal/members/${userId}`)).status).toBe(200);
    expectError(await accept(second), 404, 'NOT_FOUND');
  });

  it('does not reveal whether the address has an account elsewhere', async () => {
    const owner = await newOwner();
    const otherOwner = createBrowser(service);
    const taken = await otherOwner.signUp();
    const responses = [];
    for (const email of [taken, 'nobody-has-it@example.com']) {
      responses.push(await owner.post('/portal/invitations', { email, role: 'viewer' }));
    }
    const shapes = responses.map(({ status, json }) => ({ status, fields: Object.keys(json), role: json['role'] }));
    expect(shapes[0]).toEqual(shapes[1]);
    expect(shapes[0]).toMatchObject({ status: 200 });
    expect(listOf(await owner.get('/portal/invitations')).data).toHaveLength(2);
  });

  it('to a member of the same account is rejected, which reveals nothing new to its owner', async () => {
    const owner = await newOwner();
    const { email } = await memberOf(service, owner, 'viewer');
    expectError(await owner.post('/portal/invitations', { email, role: 'viewer' }), 409, 'CONFLICT', /your account/);
  });
});

describe('the number of invitations is limited', () => {
  it('by expiry: they are deleted when they expire, and looked up by index', async () => {
    const indexes = await service.database.invitations.collection.indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
    expect(indexes).toContainEqual(expect.objectContaining({ key: { accountId: 1, createdAt: -1 } }));
    expect(indexes).toContainEqual(expect.objectContaining({ key: { invitedBy: 1 } }));
  });

  it('for one address and account', async () => {
    const owner = await newOwner();
    const body = { email: 'pestered@example.com', role: 'viewer' };
    const statuses = [];
    for (let count = 0; count < 5; count++) statuses.push((await owner.post('/portal/invitations', body)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const other = await owner.post('/portal/invitations', { ...body, email: 'another@example.com' });
    expect(other.status).toBe(200);
  });

  it('for one address over all accounts, so that a few accounts do not block the others', async () => {
    const body = { email: 'pestered-by-many@example.com', role: 'viewer' };
    const statuses = [];
    for (let account = 0; account < 6; account++) {
      const owner = await newOwner();
      for (let count = 0; count < 3; count++) statuses.push((await owner.post('/portal/invitations', body)).status);
    }
    // Each account's first invitation, and ten repeated ones.
    expect(statuses.filter((status) => status === 200)).toHaveLength(16);
    const another = await newOwner();
    expect((await another.post('/portal/invitations', body)).status).toBe(200);
    await service.database.rateLimits.updateMany({ key: /^invitation:/ }, { $set: { points: 30 } });
    expect((await (await newOwner()).post('/portal/invitations', body)).status).toBe(429);
  });

  it('for one account', async () => {
    const owner = await newOwner();
    const statuses = [];
    for (let count = 0; count < 52; count++) {
      const body = { email: `guest${count}@example.com`, role: 'viewer' };
      statuses.push((await owner.post('/portal/invitations', body)).status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect(statuses.at(-1)).toBe(429);
  });
});
