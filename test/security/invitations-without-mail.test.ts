import { randomBytes } from 'node:crypto';
import { createEmailLinks } from '../../src/identity/people/email-links.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createPasswords } from '../../src/identity/people/passwords.js';
import { listOf } from '../support/http/management-support.js';
import { expectError, startService, type ServiceResponse, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { PRODUCTION } from '../support/production.js';

/**
 * Production without a mail server. The inviter gets the link, so the link does not prove that its user owns the
 * address.
 */
const ENV = {
  ...PRODUCTION,
  ALLOW_STANDALONE_MONGODB: 'true',
  SIMULATOR_AUTH_TOKEN: randomBytes(16).toString('hex'),
  SIMULATOR_TEST_AUTH_TOKEN: randomBytes(16).toString('hex'),
  TRUST_PROXY: 'true',
};

let service: Service;
let count = 0;
beforeAll(async () => {
  service = await startService({ worker: false, env: ENV });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** A browser whose requests reach the service through the proxy that terminates TLS. */
function newBrowser() {
  const browser = createBrowser(service);
  const send = (method: string, path: string, body?: unknown) =>
    browser.send(method, path, body, { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '198.51.100.7' });
  return {
    get: (path: string) => send('GET', path),
    post: (path: string, body: object = {}) => send('POST', path, body),
    patch: (path: string, body: object) => send('PATCH', path, body),
    delete: (path: string) => send('DELETE', path),
  };
}
async function newOwner() {
  const email = `owner-${++count}@example.com`;
  const passwordHash = await createPasswords().hash(PASSWORD);
  await createMembers(service.database).signUp({ email, name: 'Ada', passwordHash, accountName: 'Acme' });
  const browser = newBrowser();
  expect((await browser.post('/portal/log-in', { email, password: PASSWORD })).status).toBe(200);
  return { browser, email };
}
async function join(owner: { browser: ReturnType<typeof newBrowser> }, email: string, role = 'developer') {
  const browser = newBrowser();
  const { json } = await owner.browser.post('/portal/invitations', { email, role });
  const body = { token: json['token'], name: 'Grace', password: 'the horse of an owner' };
  return { browser, answer: await browser.post('/portal/accept-invitation', body), body };
}
const memberIn = ({ json }: ServiceResponse) =>
  json['member'] as { user_id: string; email_verified: boolean; role: string };

describe('an invitation that was not delivered by mail', () => {
  it('does not reveal to its inviter whether the address has an account', async () => {
    const { email: taken } = await newOwner();
    const owner = await newOwner();
    const responses = [await join(owner, taken), await join(owner, `unknown-${++count}@example.com`)];
    const shapes = responses.map(({ answer: { status, json } }) => [
      status,
      Object.keys(json),
      memberIn({ json } as ServiceResponse).email_verified,
    ]);
    expect(shapes[0]).toEqual(shapes[1]);
    expect(shapes[0]?.[0]).toBe(200);
    const { data } = listOf(await owner.browser.get('/portal/members'));
    expect(data.map(({ email_verified: verified }) => String(verified)).toSorted((a, b) => a.localeCompare(b))).toEqual(
      ['false', 'false', 'true'],
    );
  });

  it('does not reserve the address: its owner can still sign up, log in and be verified', async () => {
    const owner = await newOwner();
    const email = `wanted-${++count}@example.com`;
    await join(owner, email);
    expect(await service.database.users.countDocuments({ email })).toBe(0);
    const members = createMembers(service.database);
    const passwordHash = await createPasswords().hash(PASSWORD);
    await members.signUp({ email, name: 'Ada', passwordHash, accountName: 'Hers' });
    const { json } = await newBrowser().post('/portal/log-in', { email, password: PASSWORD });
    expect(json).toMatchObject({ account: { name: 'Hers' }, member: { email_verified: true } });
  });

  it('admits its person once, with the role of the invitation but without the right to invite', async () => {
    const owner = await newOwner();
    const { browser, answer, body } = await join(owner, `grace-${++count}@example.com`, 'owner');
    expect(memberIn(answer)).toMatchObject({ role: 'owner', email_verified: false });
    expectError(await newBrowser().post('/portal/accept-invitation', body), 404, 'NOT_FOUND');
    const agent = { name: 'A', instruction: 'B', voice: 'amber', language: 'en-US' };
    expect((await browser.post('/agents', agent)).status).toBe(200);
    const invited = await browser.post('/portal/invitations', { email: 'friend@example.com', role: 'owner' });
    expectError(invited, 403, 'FORBIDDEN');
    expectError(await browser.post('/portal/verification-email'), 403, 'FORBIDDEN', /operator/);
  });

  it('admits one person when it is accepted several times at once', async () => {
    const owner = await newOwner();
    const email = `at-once-${++count}@example.com`;
    const { json } = await owner.browser.post('/portal/invitations', { email, role: 'viewer' });
    const body = { token: json['token'], name: 'Grace', password: PASSWORD };
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => newBrowser().post('/portal/accept-invitation', body)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await service.database.unverifiedUsers.countDocuments({ email })).toBe(1);
  });

  it('creates a member that owners can change and remove, and that is never the last owner', async () => {
    const owner = await newOwner();
    const { browser, answer } = await join(owner, `member-${++count}@example.com`, 'owner');
    const path = `/portal/members/${memberIn(answer).user_id}`;
    const { json } = await owner.browser.get('/portal/session');
    const self = (json['member'] as { user_id: string }).user_id;
    expectError(await browser.delete(`/portal/members/${self}`), 409, 'CONFLICT', /owner/);
    expect((await owner.browser.patch(path, { role: 'viewer' })).json).toMatchObject({ role: 'viewer' });
    expect((await owner.browser.delete(path)).status).toBe(200);
    expectError(await browser.get('/portal/session'), 401, 'UNAUTHORIZED');
  });

  it('creates a member that an operator’s link verifies, with the same role', async () => {
    const owner = await newOwner();
    const email = `vouched-${++count}@example.com`;
    const { browser } = await join(owner, email, 'viewer');
    const token = await createEmailLinks(service.database).issue(email, 'verify');
    expect((await browser.post('/portal/verify-email', { token })).json).toEqual({ verified: true });
    expect((await browser.get('/portal/session')).json).toMatchObject({
      member: { email, email_verified: true, role: 'viewer' },
    });
  });
});

it('an invitation by an operator proves the address', async () => {
  const owner = await newOwner();
  const { json } = await owner.browser.get('/portal/session');
  const email = `operators-guest-${++count}@example.com`;
  const { account_id: accountId } = json['account'] as { account_id: string };
  const { token } = await createMembers(service.database).invite({
    accountId,
    email,
    role: 'viewer',
    provesAddress: true,
  });
  const accepted = await newBrowser().post('/portal/accept-invitation', { token, name: 'Grace', password: PASSWORD });
  expect(memberIn(accepted).email_verified).toBe(true);
});
