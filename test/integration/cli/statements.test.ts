import { randomUUID } from 'node:crypto';
import { ledgerAccountId, type Mode } from '../../../src/kernel/ids.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import type { Database } from '../../../src/database.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';
import { runAdmin } from './support/run-cli.js';

type Fields = Record<string, unknown>;

describe('callwright admin statements', () => {
  let database: Database;
  let ledger: Ledger;
  let env: NodeJS.ProcessEnv;
  let accountId: string;
  beforeAll(async () => {
    database = await openTestDatabase('cli_statements');
    ledger = createLedger(database);
    env = { MONGODB_URI: `${process.env.TEST_MONGODB_URI}/${database.connection.name}` };
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    accountId = (await createAccounts(database).create({ name: 'Acme' }))._id;
    await ledger.topUp({
      ledgerAccountId: ledgerAccountId(accountId, 'live'),
      paymentId: randomUUID(),
      amountMicros: 5e6,
    });
  });

  async function billCall(seconds: number, mode: Mode = 'live'): Promise<string> {
    const [id, callId] = [ledgerAccountId(accountId, mode), newCallId()];
    await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 60, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId: id, callId, billedSeconds: seconds });
    return callId;
  }

  async function run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runAdmin(args, env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }
  const json = async <T>(...args: string[]) => JSON.parse(await run(...args, '--json')) as T;

  it('shows an account’s ledger entries as a table, JSON and CSV', async () => {
    const callId = await billCall(47);
    const entries = await json<Fields[]>('ledger', accountId);
    expect(entries.map(({ type }) => type)).toEqual(['settlement', 'hold', 'top_up']);
    expect(entries[0]).toMatchObject({
      call_id: callId,
      billed_seconds: 47,
      billed_micros: 117_500,
      available: 0.0325,
    });
    const table = await run('ledger', accountId);
    expect(table).toMatch(new RegExp(`settlement │ ${callId} +│ 0\\.0325 +│ -0\\.15 +│ 0\\.1175`));
    expect(table.indexOf('settlement')).toBeLessThan(table.indexOf('top_up'));
    const csv = (await run('ledger', accountId, '--csv')).split('\r\n');
    expect(csv[0]).toMatch(/^id,type,at,call_id,/);
    expect(csv.slice(1, -1).map((line) => line.split(',')[0])).toEqual(entries.map(({ id }) => id));
    expect(await json<Fields[]>('ledger', accountId, '--limit', '1')).toEqual(entries.slice(0, 1));
    expect((await run('ledger', accountId, '--csv', '--limit', '2')).split('\r\n')).toHaveLength(4);
    expect(await json('ledger', accountId, '--to', '2020-01-01')).toEqual([]);
    expect(await json('ledger', accountId, '--limit', '0')).toEqual([]);
  });

  it('shows usage by day and by agent, with a total', async () => {
    await billCall(47);
    await billCall(13);
    await billCall(0);
    const today = new Date().toISOString().slice(0, 10);
    const figures = { calls: 2, seconds: 60, cost: 0.15, cost_micros: 150_000 };
    expect(await json('usage', accountId)).toEqual([{ day: today, ...figures }]);
    expect(await json('usage', accountId, '--group-by', 'agent')).toEqual([{ agent_id: 'unknown', ...figures }]);
    expect(await run('usage', accountId)).toMatch(/│ Total +│ 2 +│ 60 +│ 0\.15 +│/);
    expect(await run('usage', accountId, '--csv')).toBe(
      `day,calls,seconds,cost,cost_micros\r\n${today},2,60,0.15,150000\r\n`,
    );
    expect(await json('usage', accountId, '--from', '2020-01-01', '--to', '2020-02-01')).toEqual([]);
  });

  it('keeps live and test separate', async () => {
    await billCall(10);
    await billCall(20, 'test');
    const seconds = async (...mode: string[]) =>
      (await json<{ seconds: number }[]>('usage', accountId, ...mode)).map((row) => row.seconds);
    expect([await seconds(), await seconds('--mode', 'live'), await seconds('--mode', 'test')]).toEqual([
      [10],
      [10],
      [20],
    ]);
    const topUps = async (mode: string) =>
      (await json<Fields[]>('ledger', accountId, '--mode', mode))
        .filter(({ type }) => type === 'top_up')
        .map((entry) => entry['credited']);
    expect([await topUps('live'), await topUps('test')]).toEqual([[5], [1_000]]);
  });

  it('refills the test balance to 1,000 USD, once, and never the live balance', async () => {
    await billCall(40, 'test');
    const refilled = await json('refill', accountId);
    expect(refilled).toMatchObject({ mode: 'test', amount_micros: 100_000, available_micros: 1_000_000_000 });
    expect(await json('refill', accountId)).toMatchObject({ amount_micros: 0, available_micros: 1_000_000_000 });
    await run('topup', accountId, '5', '--mode', 'test');
    expect(await run('refill', accountId)).toMatch(/nothing was credited/);
    expect(await json('balance', accountId)).toMatchObject([
      { mode: 'live', available_usd: 5, credited_usd: 5 },
      { mode: 'test', available_usd: 1_005, credited_usd: 1_005.1 },
    ]);
    const entries = await json<Fields[]>('ledger', accountId, '--mode', 'test');
    expect(entries.filter(({ payment_id: id }) => String(id).startsWith('refill_'))).toHaveLength(1);
    await run('audit', accountId);
  });

  it.each([
    [['ledger', 'ACCOUNT', '--from', 'yesterday']],
    [['ledger', 'ACCOUNT', '--limit', '-1']],
    [['ledger', 'ACCOUNT', '--mode', 'dead']],
    [['ledger', 'ACCOUNT', '--csv', '--json']],
    [['ledger', 'ACCOUNT', '--from', '2026-01-02', '--to', '2026-01-01']],
    [['usage', 'ACCOUNT', '--group-by', 'month']],
    [['usage', 'ACCOUNT', '--from', '2024-01-01', '--to', '2026-01-01']],
    [['usage']],
    [['refill']],
  ])('exits 2 on wrong usage: %p', async (args) => {
    const { code, stdout } = await runAdmin(
      args.map((arg) => (arg === 'ACCOUNT' ? accountId : arg)),
      env,
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it.each(['ledger', 'usage', 'refill'])('exits 1 for %s of an unknown account', async (command) => {
    const { code, stderr } = await runAdmin([command, 'acct_none'], env);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: There is no account acct_none.\n' });
  });
});
