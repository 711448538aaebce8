import { createUsageAgents } from '../../../src/calls/wiring.js';
import { randomUUID } from 'node:crypto';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createLeases } from '../../../src/billing/leases.js';
import { createLedgerStorage } from '../../../src/billing/ledger/storage.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { createStatements } from '../../../src/billing/statements/statements.js';
import { describeLedgerControls } from '../../support/store/ledger-control-rules.js';
import { describeLedger } from '../../support/store/ledger-rules.js';
import { startReplicaSetFront, type ReplicaSetFront, type SeenCommand } from '../../support/store/replica-set-front.js';
import { newCallId, newLedgerAccountId } from '../../support/store/test-database.js';

const READS = new Set(['find', 'aggregate', 'count', 'distinct']);
/** Returns the `afterClusterTime` of a read: the cluster time that the server must have reached before it reads. */
const seenAfter = ({ command }: SeenCommand): unknown => command['readConcern']?.afterClusterTime;
const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify']);

describe('on a server that reports a replica set', () => {
  let front: ReplicaSetFront;
  let database: Database;
  let ledger: Ledger;
  beforeAll(async () => {
    front = await startReplicaSetFront(String(process.env.TEST_MONGODB_URI));
    database = await openDatabase(`${front.uri}/replica_set_${randomUUID().slice(0, 8)}`);
    await createIndexes(database);
    ledger = createLedger(database);
  });
  afterAll(async () => {
    await database.close();
    await front.close();
  });

  /** The commands that were sent while `work` ran. */
  async function commandsOf(work: () => Promise<unknown>): Promise<SeenCommand[]> {
    const before = front.commands.length;
    await work();
    return front.commands.slice(before);
  }

  it('uses majority reads and writes in every collection, and the driver may retry writes', async () => {
    expect(database.replicated).toBe(true);
    const seen = await commandsOf(async () => {
      const { _id: accountId } = await createAccounts(database).create({ name: 'Test' });
      await createAccounts(database).setLimits(accountId, { plan: 'growth' });
      const callId = newCallId();
      const leases = createLeases(database);
      await leases.acquire({ accountId, mode: 'live', callId, limit: 1 });
      await leases.release({ accountId, mode: 'live', callId });
      const statements = createStatements(database, createUsageAgents(database));
      await statements.page({ ledgerAccountId: `${accountId}~test#0`, limit: 5 });
      await database.calls.countDocuments({ accountId });
      await database.calls.deleteMany({ accountId });
    });
    const reads = seen.filter(({ name }) => READS.has(name));
    const writes = seen.filter(({ name }) => WRITES.has(name));
    expect(reads.length).toBeGreaterThan(3);
    expect(writes.length).toBeGreaterThan(3);
    for (const { command } of reads) expect(command['readConcern']).toMatchObject({ level: 'majority' });
    for (const { command } of writes)
      expect(command['writeConcern']).toMatchObject({ w: 'majority', j: true, wtimeout: 8_000 });
    // The driver can retry a write only if the write has a transaction number. A write to many documents cannot have
    // one.
    for (const { name, command } of writes) expect('txnNumber' in command).toBe(name !== 'delete');
    for (const { command } of seen) expect(command['$readPreference']).toBeUndefined();
  });

  it.each([
    ['a top-up', (ledgerAccountId: string) => ledger.topUp({ ledgerAccountId, paymentId: 'p2', amountMicros: 1 })],
    [
      'a hold',
      (ledgerAccountId: string) =>
        ledger.hold({
          ledgerAccountId,
          callId: newCallId(),
          window: 0,
          maxDurationSeconds: 60,
          microsPerSecond: 2_500,
        }),
    ],
    [
      'a settlement',
      (ledgerAccountId: string) => ledger.settle({ ledgerAccountId, callId: newCallId(), billedSeconds: 0 }),
    ],
    ['a sweep', (ledgerAccountId: string) => ledger.sweep(ledgerAccountId)],
    ['an audit', (ledgerAccountId: string) => ledger.audit(ledgerAccountId)],
    [
      'a page of a statement',
      (ledgerAccountId: string) =>
        createStatements(database, createUsageAgents(database)).page({ ledgerAccountId, limit: 9 }),
    ],
  ])("runs %s in one causally consistent session, so each read sees the previous one's state", async (_name, work) => {
    const id = newLedgerAccountId();
    await ledger.open(id);
    // An operation with its ledger entry, and one that only the account's document has.
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p0', amountMicros: 1_000_000 });
    await ledger.sweep(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 1_000_000 });
    const seen = await commandsOf(() => work(id));
    expect(seen.length).toBeGreaterThan(1);
    expect(seen[0]).toMatchObject({ name: 'find', collection: 'ledger_accounts' });
    expect(new Set(seen.map(({ command }) => JSON.stringify(command['lsid']))).size).toBe(1);
    for (const [index, one] of seen.entries()) {
      if (!READS.has(one.name)) continue;
      expect(one.command['readConcern']).toMatchObject({ level: 'majority' });
      const previousTime = seen[index - 1]?.operationTime;
      if (previousTime) expect(seenAfter(one)).toEqual(previousTime);
    }
  });

  it('keeps a separate time for each of many concurrent sessions', async () => {
    const ids = Array.from({ length: 40 }, newLedgerAccountId);
    await Promise.all(ids.map((id) => ledger.open(id)));
    const seen = await commandsOf(() =>
      Promise.all(ids.map((ledgerAccountId) => ledger.topUp({ ledgerAccountId, paymentId: 'p1', amountMicros: 1 }))),
    );
    const last = new Map<string, SeenCommand>();
    let compared = 0;
    for (const one of seen) {
      const session = JSON.stringify(one.command['lsid']);
      // A read of the journal must name the operation time of its session's previous command.
      if (one.name === 'find' && one.collection === 'ledger_entries') {
        expect(seenAfter(one)).toEqual(last.get(session)?.operationTime);
        compared++;
      }
      last.set(session, one);
    }
    expect(compared).toBeGreaterThanOrEqual(ids.length);
    expect(last.size).toBeGreaterThan(1);
  });

  it('uses no such session outside the ledger, so the check above can fail', async () => {
    const seen = await commandsOf(async () => {
      await database.accounts.findOne({ _id: 'a' });
      await database.accounts.findOne({ _id: 'b' });
    });
    const [first, second] = seen;
    expect(seen).toHaveLength(2);
    // The second read may have a cluster time, because the driver writes a session's time into options that all its
    // commands share. But that time is older than the time of the first read.
    expect(second && seenAfter(second)).not.toEqual(first?.operationTime);
  });

  describe('the ledger', () => {
    describeLedger(() => ledger);
    describeLedgerControls(() => createLedgerStorage(database));
  });
});
