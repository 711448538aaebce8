import { randomUUID } from 'node:crypto';
import { createEmailLinks } from '../../../src/identity/people/email-links.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createMembers } from '../../../src/identity/people/members.js';
import { runAdmin } from './support/run-cli.js';

type Fields = Record<string, unknown>;

describe('callwright admin members', () => {
  const uri = `${process.env.TEST_MONGODB_URI}/cli_${randomUUID().slice(0, 8)}`;
  const env = { MONGODB_URI: uri, PUBLIC_BASE_URL: 'https://calls.test' };
  let database: Database;
  let accountId: string;
  beforeAll(async () => {
    database = await openDatabase(uri);
    await createIndexes(database);
    accountId = String((await json('accounts', 'create', 'Acme'))['account_id']);
  });
  afterAll(() => database.close());

  async function json<T = Fields>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }
  const tokenOf = ({ link }: Fields, page: string) => {
    const [, token = ''] =
      new RegExp(`^https://calls\\.test/portal/${page}#token=([\\w-]{43})$`).exec(String(link)) ?? [];
    return token;
  };

  it('creates a member who chooses a password with a link that is printed once', async () => {
    const created = await json('members', 'create', accountId, 'Ada@Example.com', '--name', 'Ada', '--role', 'owner');
    expect(created).toMatchObject({ email: 'ada@example.com', role: 'owner', email_verified: true });
    const token = tokenOf(created, 'reset-password');
    expect(await createEmailLinks(database).find(token, 'reset')).toBe(created['user_id']);
    expect(JSON.stringify(await database.emailLinks.find().lean())).not.toContain(token);
    const listed = await json<Fields[]>('members', 'list', accountId);
    expect(listed).toMatchObject([{ email: 'ada@example.com', role: 'owner' }]);
    expect(JSON.stringify(listed)).not.toContain('token');
    const again = await runAdmin(['members', 'create', accountId, 'ada@example.com', '--name', 'Ada'], env);
    expect(again).toMatchObject({ code: 1, stdout: '' });
  });

  it('invites new members, and prints links for known addresses only', async () => {
    const invited = await json('members', 'invite', accountId, 'grace@example.com', '--role', 'viewer');
    const token = tokenOf(invited, 'accept-invitation');
    expect(await createMembers(database).openInvitation(token)).toMatchObject({ accountId, role: 'viewer' });
    const person = { email: 'new@example.com', name: 'New', passwordHash: 'none', accountName: 'New' };
    await createMembers(database).signUp({ ...person, unverified: true });
    const verify = tokenOf(await json('members', 'verify-link', 'new@example.com'), 'verify-email');
    expect(await createEmailLinks(database).find(verify, 'verify')).toBe('new@example.com');
    // The owner of an e-mail address must not take over an account that somebody else created with the address.
    const unverified = await runAdmin(['members', 'reset-link', 'new@example.com'], env);
    expect(unverified).toMatchObject({ code: 1, stdout: '' });
    expect(unverified.stderr).toContain('members verify-link');
    const reset = tokenOf(await json('members', 'reset-link', 'ada@example.com'), 'reset-password');
    expect(reset).not.toBe('');
    for (const command of ['verify-link', 'reset-link']) {
      const unknown = await runAdmin(['members', command, 'nobody@example.com'], env);
      expect(unknown).toMatchObject({ code: 1, stdout: '' });
    }
    expect((await runAdmin(['members', 'invite', accountId, 'nobody'], env)).code).toBe(2);
  });
});
