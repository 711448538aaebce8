import { randomUUID } from 'node:crypto';
import { openDatabase, type Database } from '../../../src/database.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { ACME, EUROPE, TWO_ACCOUNTS, writeAccountsFile } from '../../support/carrier-accounts';
import { runAdmin } from './support/run-cli.js';

type Fields = Record<string, unknown>;

const uri = `${process.env.TEST_MONGODB_URI}/cli_${randomUUID().slice(0, 8)}`;
const env = { MONGODB_URI: uri, CARRIER_ACCOUNTS_FILE: writeAccountsFile(TWO_ACCOUNTS) };
let database: Database;
beforeAll(async () => {
  database = await openDatabase(uri);
  await createIndexes(database);
});
afterAll(async () => {
  await database.connection.dropDatabase();
  await database.close();
});

/** Runs a command that must succeed, and parses the JSON that it prints. */
async function json<T = Fields>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

const newAccount = async () => String((await json('accounts', 'create', 'Acme')).account_id);
const entriesOf = async (accountId: string) =>
  (await database.auditEntries.find({ accountId }).sort({ createdAt: 1 }).lean()).map(
    ({ action, actorId, mode, target }) => ({ action, actorId, mode, target }),
  );

describe('callwright admin', () => {
  it('lists the accounts and pools of the file, without tokens', async () => {
    const { stdout } = await runAdmin(['carriers', 'list', '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'default', pools: 'default' },
      { name: 'europe', account_sid: EUROPE.account_sid, from_number: EUROPE.from_number },
      { name: 'acme', account_sid: ACME.account_sid, calls_per_second: 'unlimited', pools: 'acme' },
    ]);
    expect(stdout).not.toContain(EUROPE.auth_token);
  });

  it('assigns a customer to a pool, and enters it into the audit log', async () => {
    const id = await newAccount();
    expect(await json('accounts', 'carrier-pool', id, 'acme')).toMatchObject({ carrier_pool: 'acme' });
    expect(await json('accounts', 'show', id)).toMatchObject({ carrier_pool: 'acme' });
    expect(await json('accounts', 'carrier-pool', id, 'none')).not.toHaveProperty('carrier_pool');
    const change = { action: 'setCarrierPool', actorId: 'operator', mode: 'live' };
    expect(await entriesOf(id)).toEqual([
      { ...change, target: 'acme' },
      { ...change, target: undefined },
    ]);
  });

  it('assigns a number to a carrier account, and enters a change into the audit log of its owner', async () => {
    const id = await newAccount();
    const number = '+442071838799';
    await json('numbers', 'add', id, number, '--carrier-account', 'europe');
    expect(await json<Fields[]>('numbers', 'list', id)).toMatchObject([{ carrier_account: 'europe' }]);
    expect(await json('numbers', 'carrier-account', number, 'acme')).toMatchObject({ carrier_account: 'acme' });
    const change = { action: 'setCarrierAccountOfNumber', actorId: 'operator', mode: 'live', target: number };
    expect(await entriesOf(id)).toEqual([change]);
  });

  it('adds a number again only with the same carrier account and agent, and says so', async () => {
    const id = await newAccount();
    const number = '+442071838797';
    const again = (...options: string[]) => runAdmin(['numbers', 'add', id, number, ...options], env);
    await json('numbers', 'add', id, number);
    expect(await again()).toMatchObject({ code: 0 });
    expect(await again('--carrier-account', 'default')).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await again('--carrier-account', 'europe');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('The account has this number already, with another carrier account.');
    expect(await json<Fields[]>('numbers', 'list', id)).not.toMatchObject([{ carrier_account: 'europe' }]);

    await json('numbers', 'carrier-account', number, 'europe');
    expect(await again('--carrier-account', 'europe')).toMatchObject({ code: 0 });
    const { agent_id: agent } = await json('agents', 'create', id, '--name', 'Amber', '--instruction', 'Be polite.');
    expect((await again('--agent', String(agent))).stderr).toContain('with another agent.');
  });

  it.each([
    ['a pool', ['accounts', 'carrier-pool', 'acct_x', 'gone'], /no carrier pool gone\. .* has: europe, acme, default/],
    [
      'an account',
      ['numbers', 'carrier-account', '+442071838798', 'gone'],
      /no carrier account gone\. .* default, europe, acme/,
    ],
    ['a customer', ['accounts', 'carrier-pool', 'acct_x', 'acme'], /no account acct_x/],
    ['a number', ['numbers', 'carrier-account', '+442071838798', 'acme'], /No account owns this number/],
  ])('fails for %s that is not there, and changes nothing', async (_what, args, message) => {
    const { code, stderr } = await runAdmin(args, env);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(await database.auditEntries.countDocuments({ accountId: 'acct_x' })).toBe(0);
  });
});
