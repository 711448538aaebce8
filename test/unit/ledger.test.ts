import { createLedgerOn } from '../../src/billing/ledger/ledger.js';
import { MAX_MARKERS } from '../../src/billing/ledger/decide.js';
import { describeLedgerCheckpoints } from '../support/store/ledger-checkpoint-rules.js';
import { describeLedgerControls } from '../support/store/ledger-control-rules.js';
import { describeEarlyDecisions } from '../support/store/ledger-early-rules.js';
import { describeLedgerRates } from '../support/store/ledger-rate-rules.js';
import { describeLedger } from '../support/store/ledger-rules.js';
import { createMemoryLedgerStorage } from '../support/store/memory-ledger-storage.js';
import { newCallId, newLedgerAccountId } from '../support/store/test-database.js';

describe('the ledger on a storage with atomic documents', () => {
  const storage = createMemoryLedgerStorage();
  const ledger = createLedgerOn(storage);

  describe.each([2_500, 1, 833, 1_000_000])('at %d micro-USD a second', (rate) => {
    describeLedger(() => ledger, rate);
    describeLedgerControls(() => storage, rate);
  });
  describeLedgerRates(() => ledger);
  describeEarlyDecisions(() => storage);
  describeLedgerCheckpoints(() => ({ storage, lose: async (key) => storage.entries.delete(key) }));

  it('finishes an operation whose writer died before writing the entry', async () => {
    const id = newLedgerAccountId();
    const callId = newCallId();
    await ledger.open(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 1_000_000 });
    await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 60, microsPerSecond: 2_500 });
    storage.entries.clear();
    expect(
      await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 60, microsPerSecond: 2_500 }),
    ).toMatchObject({
      grantedSeconds: 60,
    });
    await ledger.sweep(id);
    expect([...storage.entries.keys()].toSorted()).toEqual([`H${callId}~0`, `T${id.replace('#0', '')}~p1`]);
    expect(await ledger.audit(id)).toMatchObject({ balanced: true, operationCount: 2 });
  });

  it('detects an account that does not equal its operations', async () => {
    const id = newLedgerAccountId();
    await ledger.open(id);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 1_000_000 });
    const account = storage.accounts.get(id);
    if (account) account.availableMicros += 1;
    expect(await ledger.audit(id)).toMatchObject({ balanced: false });
    if (account) account.availableMicros -= 1;
    expect(await ledger.audit(id)).toMatchObject({ balanced: true });
    if (account) account.spentMicros += 1;
    expect(await ledger.audit(id)).toMatchObject({ balanced: false });
  });

  it('sweeps by itself before an account has too many markers', async () => {
    const id = newLedgerAccountId();
    await ledger.open(id);
    let most = 0;
    for (let i = 0; i < 300; i++) {
      await ledger.topUp({ ledgerAccountId: id, paymentId: `p${i}`, amountMicros: 1 });
      const account = storage.accounts.get(id);
      most = Math.max(most, Object.keys(account?.markers ?? {}).length);
      expect(account?.markerCount).toBe(Object.keys(account?.markers ?? {}).length);
    }
    expect(most).toBeGreaterThan(50);
    expect(most).toBeLessThanOrEqual(MAX_MARKERS);
    expect(await ledger.audit(id)).toMatchObject({ balanced: true, operationCount: 300 });
  });
});
