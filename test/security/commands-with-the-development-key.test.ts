import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '../../src/database.js';
import { runAdmin } from '../integration/cli/support/run-cli.js';
import { likeASecret, PRODUCTION } from '../support/production.js';

const TOOL = {
  name: 'look_up',
  description: 'Looks up an order.',
  method: 'GET',
  url: 'https://example.com/orders',
  parameters: { type: 'object', properties: {} },
};

/** Writes a list with one tool to a file. Returns its path. */
function toolsFile(headers?: object): string {
  const file = join(mkdtempSync(join(tmpdir(), 'callwright-tools-')), 'tools.json');
  writeFileSync(file, JSON.stringify([{ ...TOOL, ...(headers === undefined ? {} : { headers }) }]));
  return file;
}

const SECRET = toolsFile({ Authorization: 'Bearer 1234' });
const AGENT = ['--name', 'Ada', '--instruction', 'Be kind.'];

describe('a command of the command line without ENCRYPTION_KEYS', () => {
  const uri = `${process.env['TEST_MONGODB_URI']}/keys_${randomUUID().slice(0, 8)}`;
  const without = { MONGODB_URI: uri, API_KEY_PEPPER: likeASecret('pepper') };
  const withKeys = { ...without, ENCRYPTION_KEYS: PRODUCTION.ENCRYPTION_KEYS };
  let database: Database;
  let accountId: string;

  const created = async <F extends string>(field: F, args: string[], env: NodeJS.ProcessEnv) => {
    const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
    expect([code, stderr]).toEqual([0, '']);
    return (JSON.parse(stdout) as Record<F, string>)[field];
  };

  beforeAll(async () => {
    database = await openDatabase(uri);
    accountId = await created('account_id', ['accounts', 'create', 'Acme'], without);
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  const stored = () => database.agents.find({}).sort({ _id: 1 }).lean();

  async function expectRejection(args: string[], env: NodeJS.ProcessEnv = without): Promise<void> {
    const before = await stored();
    const { code, stderr } = await runAdmin(args, env);
    expect(stderr).toContain('ENCRYPTION_KEYS is not set');
    expect([code, await stored()]).toEqual([2, before]);
  }

  it('stores no secret of a new or changed agent, whether or not the service has keys yet', async () => {
    const create = ['agents', 'create', accountId, ...AGENT, '--tools-file', SECRET];
    await expectRejection(create);
    await expectRejection(create, { MONGODB_URI: uri });
    await created('key_id', ['keys', 'create', accountId, '--name', 'ci', '--mode', 'live'], without);
    await expectRejection(create);
    const agentId = await created('agent_id', create, withKeys);
    await expectRejection(['agents', 'update', agentId, '--tools-file', SECRET]);
  });

  it('encrypts no stored secret again', () => expectRejection(['secrets', 'reseal']));

  it('stores agents without secrets', async () => {
    const args = ['agents', 'create', accountId, ...AGENT, '--tools-file', toolsFile()];
    expect(await created('agent_id', args, without)).toMatch(/^agent_/);
  });

  it('stores secrets for a service in development', async () => {
    const env = { MONGODB_URI: `${uri}_development` };
    const account = await created('account_id', ['accounts', 'create', 'Acme'], env);
    await created('key_id', ['keys', 'create', account, '--name', 'ci', '--mode', 'live'], env);
    const args = ['agents', 'create', account, ...AGENT, '--tools-file', SECRET];
    expect(await created('agent_id', args, env)).toMatch(/^agent_/);
    const other = await openDatabase(env.MONGODB_URI);
    await other.connection.dropDatabase();
    await other.close();
  });
});
