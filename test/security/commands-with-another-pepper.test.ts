import { randomUUID } from 'node:crypto';
import { openDatabase, type Database } from '../../src/database.js';
import { runAdmin } from '../integration/cli/support/run-cli.js';
import { likeASecret } from '../support/production.js';

const PEPPERS = { now: likeASecret('pepper'), next: likeASecret('next pepper') };

describe('a command of the command line whose pepper is not that of the service', () => {
  const uri = `${process.env['TEST_MONGODB_URI']}/peppers_${randomUUID().slice(0, 8)}`;
  const env = { MONGODB_URI: uri, API_KEY_PEPPER: PEPPERS.now };
  const without = { MONGODB_URI: uri };
  let database: Database;
  let accountId: string;

  beforeAll(async () => {
    database = await openDatabase(uri);
    const created = await runAdmin(['accounts', 'create', 'Acme', '--json'], env);
    accountId = (JSON.parse(created.stdout) as { account_id: string }).account_id;
    expect((await runAdmin(['keys', 'create', accountId, '--name', 'ci', '--mode', 'live', '--json'], env)).code).toBe(
      0,
    );
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  const stored = async () => [
    await database.apiKeys.countDocuments({}),
    await database.auditEntries.countDocuments({}),
  ];

  async function expectRejection(...args: string[]): Promise<void> {
    const before = await stored();
    const { code, stderr } = await runAdmin(args, without);
    expect(stderr).toContain('API_KEY_PEPPER is not the one of the service');
    expect([code, await stored()]).toEqual([2, before]);
  }

  it('makes no key', () => expectRejection('keys', 'create', accountId, '--name', 'ci', '--mode', 'live'));

  it('erases no number, and names none by a hash that can be guessed', () =>
    expectRejection('erase', '--phone', '+12025550123', '--confirm'));

  it('compares the money, such as of a restored backup, for which it needs no pepper', async () => {
    const { code, stdout } = await runAdmin(['audit', '--json'], without);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ balanced: true }, { balanced: true }]]);
  });

  it('runs while the pepper changes, with both', async () => {
    const both = { MONGODB_URI: uri, API_KEY_PEPPER: PEPPERS.next, API_KEY_FORMER_PEPPERS: PEPPERS.now };
    expect((await runAdmin(['accounts', 'list'], both)).code).toBe(0);
  });
});
