import { reconcileNow } from '../../src/calls/reconciliation/schedule.js';
import { settlementKey } from '../../src/billing/ledger/keys.js';
import { createFindings } from '../../src/calls/reconciliation/findings.js';
import { startReconciling, type Reconciling } from '../integration/workflows/reconcile-harness.js';
import { newCallId } from '../support/store/test-database.js';

let stack: Reconciling;
beforeAll(async () => {
  stack = await startReconciling();
}, 120_000);
afterAll(() => stack.stop());

it('a settlement that cannot be compared keeps no later one from being compared', async () => {
  const { database } = stack;
  const [broken, later] = [newCallId(), newCallId()];
  const call = await stack.ringingCall();
  const settlement = { type: 'settlement', billedMicros: 150_000, heldMicros: 150_000, billedSeconds: 60, epoch: 1 };
  await database.ledgerEntries.collection.insertMany([
    // Its ledger account is gone.
    { ...settlement, _id: settlementKey(broken), ledgerAccountId: 'acct_gone~live', at: new Date(1_000) },
    { ...settlement, _id: settlementKey(later), ledgerAccountId: call.money, at: new Date(2_000) },
  ] as never);
  await reconcileNow(stack.config, 60_000).catch(() => undefined);
  const found = await createFindings(database).list();
  expect(found.map(({ callId }) => callId)).toContain(later);
  const aside = await database.reconciliationChecks.findById(`comparison:${broken}`).lean();
  expect(aside).toMatchObject({ callId: broken, ledgerAccountId: 'acct_gone~live' });
}, 120_000);
