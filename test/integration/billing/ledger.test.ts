import type { Database } from '../../../src/database.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { createLedgerStorage } from '../../../src/billing/ledger/storage.js';
import { MAX_MARKERS } from '../../../src/billing/ledger/decide.js';
import { describeLedgerCheckpoints } from '../../support/store/ledger-checkpoint-rules.js';
import { describeLedgerControls } from '../../support/store/ledger-control-rules.js';
import { describeEarlyDecisions } from '../../support/store/ledger-early-rules.js';
import { describeLedgerRates } from '../../support/store/ledger-rate-rules.js';
import { describeLedger } from '../../support/store/ledger-rules.js';
import { newCallId, newLedgerAccountId, openTestDatabase } from '../../support/store/test-database.js';

describe('the ledger in MongoDB', () => {
  let database: Database;
  let ledger: Ledger;
  beforeAll(async () => {
    database = await openTestDatabase('ledger');
    ledger = createLedger(database);
  });
  afterAll(() => database.close());

  describe.each([2_500, 833])('at %d micro-USD a second', (rate) => {
    describeLedger(() => ledger, rate);
    describeLedgerControls(() => createLedgerStorage(database), rate);
  });
  describeLedgerRates(() => ledger);
  describeEarlyDecisions(() => createLedgerStorage(database));
  describeLedgerCheckpoints(() => ({
    storage: createLedgerStorage(database),
    lose: (key) => database.ledgerEntries.deleteOne({ _id: key }),
  }));

  it('grants exactly 100 of 500 concurrent first holds when the balance covers 100', async () => {
    const id = newLedgerAccountId();
    await ledger.open(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 100 * 60 * 2_500 });
    const answers = await Promise.all(
      Array.from({ length: 500 }, () =>
        ledger.hold({
          ledgerAccountId: id,
          callId: newCallId(),
          window: 0,
          maxDurationSeconds: 600,
          microsPerSecond: 2_500,
        }),
      ),
    );
    expect(answers.filter(({ grantedSeconds }) => grantedSeconds === 60)).toHaveLength(100);
    expect(answers.filter(({ grantedSeconds }) => grantedSeconds === 0)).toHaveLength(400);
    expect(await ledger.balance(id)).toMatchObject({ availableMicros: 0, heldMicros: 100 * 60 * 2_500 });
    expect(await ledger.audit(id)).toMatchObject({ balanced: true, operationCount: 501 });
    const account = await database.ledgerAccounts.findOne({ _id: id }).lean();
    expect(Object.keys(account?.markers ?? {}).length).toBeLessThanOrEqual(MAX_MARKERS);
    expect(account?.epoch).toBeGreaterThan(0);
  });

  it('writes every operation as its own entry', async () => {
    const id = newLedgerAccountId();
    const callId = newCallId();
    await ledger.open(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 1_000_000 });
    await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId: id, callId, billedSeconds: 10, estimated: true });
    const rows = await database.ledgerEntries.find({ ledgerAccountId: id }).sort({ _id: 1 }).lean();
    expect(rows).toMatchObject([
      { _id: `H${callId}~0`, type: 'hold', amountMicros: 150_000 },
      { _id: `H${callId}~1`, type: 'hold', amountMicros: 0, void: true },
      { _id: `S${callId}`, type: 'settlement', heldMicros: 150_000, billedMicros: 25_000, estimated: true },
      { type: 'topUp', amountMicros: 1_000_000 },
    ]);
  });

  it('reports a missing ledger account', async () => {
    await expect(ledger.balance(newLedgerAccountId())).rejects.toThrow(/ledger account .* does not exist/);
  });
});
