import { randomUUID } from 'node:crypto';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { eraseWorkflowId } from '../../../src/calls/follow-ups.js';
import type { CallStatus } from '../../../src/kernel/call-state.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { withTemporalClient } from '../../../src/platform/temporal/with-client.js';
import { newCallId } from '../../support/store/test-database.js';
import { runAdmin } from './support/run-cli.js';

describe('callwright admin erase', () => {
  const uri = `${process.env.TEST_MONGODB_URI}/erase_${randomUUID().slice(0, 8)}`;
  const env = { MONGODB_URI: uri, TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS };
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(uri);
    await createIndexes(database);
  });
  afterAll(() => database.close());

  async function json(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Record<string, unknown>;
  }
  const newAccount = async () => String((await json('accounts', 'create', 'Acme')).account_id);
  const newAgent = (id: string) => json('agents', 'create', id, '--name', 'Amber', '--instruction', 'Be polite.');

  const call = (_id: string, accountId: string, status: CallStatus) =>
    database.calls.create({
      _id,
      sequence: 1,
      accountId,
      mode: 'test',
      direction: 'outbound',
      status,
      fromPhoneNumber: '+12025550160',
      toPhoneNumber: '+12025550161',
      createdAt: new Date(),
      updatedAt: new Date(0),
    });

  it('needs either a number or an account, and --confirm to change anything', async () => {
    expect(await runAdmin(['erase'], env)).toMatchObject({ code: 2 });
    expect(await runAdmin(['erase', '--phone', '2025550150'], env)).toMatchObject({ code: 2 });
    // Every text has such digits.
    expect(await runAdmin(['erase', '--phone', '+123456', '--confirm'], env)).toMatchObject({ code: 2 });
    expect(await runAdmin(['erase', '--phone', '+1234567'], env)).toMatchObject({ code: 0 });
    expect(await runAdmin(['erase', '--account', 'acct_none'], env)).toMatchObject({ code: 1 });
    const id = await newAccount();
    await newAgent(id);
    expect(await json('erase', '--account', id)).toMatchObject({ account_id: id, agents: 1, calls: 0 });
    expect(await json('accounts', 'show', id)).toMatchObject({ account_id: id });
  });

  it('removes an account with its calls once all have ended, and keeps its ledger and its audit log without names', async () => {
    const id = await newAccount();
    await newAgent(id);
    await json('numbers', 'add', id, '+12025550160');
    await json('keys', 'create', id, '--name', 'ci');
    const email = `${randomUUID()}@example.com`;
    await json('members', 'create', id, email, '--name', 'Ada');
    await database.auditEntries.create({
      _id: `audit_${randomUUID()}`,
      accountId: id,
      createdAt: new Date(),
      actorKind: 'member',
      actorId: 'user_1',
      actorName: email,
      action: 'addNumber',
      target: '+12025550160',
      requestId: 'x',
    });
    const [ended, running] = [newCallId(), newCallId()];
    await call(ended, id, 'COMPLETED');
    await call(running, id, 'IN_PROGRESS');
    const money = () =>
      database.ledgerAccounts
        .find({ _id: `${id}~test#0` }, { availableMicros: 1, creditedMicros: 1, billedMicros: 1, heldMicros: 1 })
        .lean();
    const before = await money();
    expect(before).toMatchObject([{ creditedMicros: 1_000_000_000 }]);

    const first = await runAdmin(['erase', '--account', id, '--confirm'], env);
    expect(first).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Calls in progress were not erased: 1.') as string,
    });
    expect(await database.accounts.exists({ _id: id })).not.toBeNull();
    await database.calls.updateOne({ _id: running }, { $set: { status: 'COMPLETED' } });
    expect(await json('erase', '--account', id, '--confirm')).toMatchObject({ calls: 1, calls_in_progress: [] });

    const { accounts, agents, phoneNumbers, apiKeys, users, calls, auditEntries } = database;
    for (const model of [agents, phoneNumbers, apiKeys, users]) {
      expect(await model.collection.countDocuments({ accountId: id })).toBe(0);
    }
    expect(await accounts.exists({ _id: id })).toBeNull();
    expect(await calls.countDocuments({ accountId: id, toPhoneNumber: '', fromPhoneNumber: '' })).toBe(2);
    const entries = await auditEntries.find({ accountId: id }).lean();
    expect(JSON.stringify(entries)).not.toMatch(/@example|12025550160/);
    expect(entries.map(({ action }) => action)).toEqual(expect.arrayContaining(['addNumber', 'eraseAccount']));
    expect(await money()).toEqual(before);
    // A repeat looks for workflows that were left.
    expect(await json('erase', '--account', id, '--confirm')).toMatchObject({ calls: 0, workflows_left: 0 });
  });

  it.each(['--phone', '--account'])(
    'exits with 1 while %s leaves a workflow, and deletes it when it is repeated later',
    async (option) => {
      const id = await newAccount();
      const number = `+1202556${String(Math.floor(Math.random() * 10_000)).padStart(4, '0')}`;
      const callId = newCallId();
      await call(callId, id, 'FAILED');
      await database.calls.updateOne({ _id: callId }, { $set: { toPhoneNumber: number, updatedAt: new Date() } });
      const ledger = createLedger(database);
      await ledger.settle({ ledgerAccountId: ledgerAccountId(id, 'test'), callId, billedSeconds: 0 });
      await ledger.sweep(ledgerAccountId(id, 'test'));
      const erase = () => runAdmin(['erase', option, option === '--phone' ? number : id, '--confirm', '--json'], env);

      // The call has just ended. So its erasure runs in Temporal, where no worker of this test ends it.
      const first = await erase();
      expect(first.stderr).toContain('Workflows of erased calls are left: 1.');
      expect([first.code, JSON.parse(first.stdout)]).toMatchObject([1, { calls: 1, workflows_left: 1 }]);
      expect(await database.calls.findById(callId).lean()).toMatchObject({ toPhoneNumber: '' });
      expect((await erase()).code).toBe(1);
      await withTemporalClient(parseConfig(env), (client) =>
        client.workflow.getHandle(eraseWorkflowId(callId)).terminate(),
      );
      const last = await erase();
      expect(last).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(last.stdout)).toMatchObject({ calls: 0, workflows_deleted: 1, workflows_left: 0 });
    },
  );
});
