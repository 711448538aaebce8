import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Database } from '../../src/database.js';
import { createApiKeys } from '../../src/identity/api-keys/api-keys.js';
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

  it('makes no key with the former pepper, although a key that was not used since has it', async () => {
    const service = createApiKeys({ database, pepper: PEPPERS.next, formerPeppers: [PEPPERS.now] });
    const former = createApiKeys({ database, pepper: PEPPERS.now });
    const { secret, key } = await former.create({ accountId, name: 'used', mode: 'live' });
    await service.authenticate(secret);
    // The use is recorded in the background.
    const { keyId } = key;
    while ((await service.find({ accountId, mode: 'live', keyId }))?.lastUsedAt === undefined) await sleep(10);
    const create = ['keys', 'create', accountId, '--name', 'ci', '--mode', 'live'];
    const rejected = await runAdmin(create, env);
    expect([rejected.code, rejected.stderr]).toEqual([2, expect.stringContaining('API_KEY_PEPPER is not the one')]);
    expect((await runAdmin(create, { ...env, API_KEY_PEPPER: PEPPERS.next })).code).toBe(0);
  });
});
