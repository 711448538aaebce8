import { mongo } from 'mongoose';
import { reconcileNow } from '../../src/calls/reconciliation/schedule.js';
import { settlementKey } from '../../src/billing/ledger/keys.js';
import { createFindings } from '../../src/calls/reconciliation/findings.js';
import { startReconciling, type Reconciling } from '../integration/workflows/reconcile-harness.js';
import { newCallId } from '../support/store/test-database.js';

/**
 * MongoDB stores this regular expression. The driver throws when it reads the expression, because it is invalid in
 * JavaScript.
 */
const UNREADABLE = new mongo.BSONRegExp('(?<');

let stack: Reconciling;
beforeAll(async () => {
  stack = await startReconciling();
}, 120_000);
afterAll(() => stack.stop());
beforeEach(() => stack.database.reconciliationCursors.deleteMany({}));

const settlement = { type: 'settlement', billedMicros: 150_000, heldMicros: 150_000, billedSeconds: 60, epoch: 1 };
const foundCalls = async () => (await createFindings(stack.database).list()).map(({ callId }) => callId);
const checkOf = (kind: string, callId: string) =>
  stack.database.reconciliationChecks.findById(`${kind}:${callId}`).lean();
const settle = (rows: object[]) => stack.entries.insertMany(rows.map((row) => ({ ...settlement, ...row })) as never);

it('a settlement that cannot be compared does not stop the comparison of later ones', async () => {
  const [broken, later] = [newCallId(), newCallId()];
  const call = await stack.ringingCall();
  await settle([
    // The entry belongs to a ledger account that does not exist.
    { _id: settlementKey(broken), ledgerAccountId: 'acct_gone~live', at: new Date(1_000) },
    { _id: settlementKey(later), ledgerAccountId: call.money, at: new Date(2_000) },
  ]);
  await reconcileNow(stack.config, 60_000).catch(() => undefined);
  expect(await foundCalls()).toContain(later);
  expect(await checkOf('comparison', broken)).toMatchObject({ callId: broken, ledgerAccountId: 'acct_gone~live' });
}, 120_000);

it('a settlement without a call or a ledger account is skipped and counted', async () => {
  const [withoutAccount, later] = [newCallId(), newCallId()];
  const { money } = await stack.newAccount();
  await settle([
    { _id: settlementKey(withoutAccount), at: new Date(3_000) },
    { _id: 'Snothing', ledgerAccountId: money, at: new Date(3_001) },
    { _id: 7, ledgerAccountId: money, at: new Date(3_002) },
    { _id: settlementKey(later), ledgerAccountId: money, at: new Date(4_000) },
  ]);
  expect(await reconcileNow(stack.config, 60_000)).toMatchObject({ brokenRecords: 3 });
  expect(await foundCalls()).toContain(later);
  expect(await reconcileNow(stack.config, 60_000)).toMatchObject({ brokenRecords: 0 });
}, 120_000);

it('an unreadable call or ledger entry is set aside, and later ones are compared', async () => {
  const [hold, record, later] = [newCallId(), newCallId(), newCallId()];
  const { money, accountId } = await stack.newAccount();
  const call = { accountId, mode: 'live', status: 'COMPLETED', sequence: 1, updatedAt: new Date(1_000) };
  await stack.database.calls.collection.insertOne({ ...call, _id: record, costMicros: UNREADABLE } as never);
  await settle([
    { _id: settlementKey(hold), ledgerAccountId: money, at: new Date(5_000), reason: UNREADABLE },
    { _id: settlementKey(later), ledgerAccountId: money, at: new Date(6_000) },
  ]);
  await reconcileNow(stack.config, 60_000);
  expect(await foundCalls()).toContain(later);
  expect(await checkOf('comparison', hold)).toMatchObject({ callId: hold });
  expect(await checkOf('comparison', record)).toMatchObject({ callId: record });
}, 120_000);

it('an unreadable webhook attempt does not stop the webhook checks of other calls', async () => {
  const [broken, later] = [newCallId(), newCallId()];
  const { accountId } = await stack.newAccount();
  const { database } = stack;
  const call = { accountId, mode: 'live', status: 'FAILED', sequence: 1, updatedAt: new Date(2_000) };
  const request = { accountId, mode: 'live', webhookUrl: 'http://127.0.0.1:9/', createdAt: new Date() };
  for (const _id of [broken, later]) {
    await database.callRequests.collection.insertOne({ ...request, _id } as never);
    await database.calls.collection.insertOne({ ...call, _id } as never);
  }
  // This attempt has no start time.
  await database.webhookAttempts.collection.insertOne({ _id: `${broken}:1`, callId: broken, number: 1 } as never);
  await reconcileNow(stack.config, 60_000);
  for (const callId of [broken, later]) expect(await checkOf('webhook', callId)).toMatchObject({ callId, attempts: 1 });
}, 120_000);

it('a broken record of one check does not stop other checks', async () => {
  const { database } = stack;
  const { money } = await stack.newAccount();
  const [at, whole] = [new Date(0), newCallId()];
  const due = { ledgerAccountId: money, attempts: 0, dueAt: at, addedAt: at };
  await database.reconciliationChecks.collection.insertMany([
    { ...due, _id: 'ending:1', kind: 'ending', callId: 'x'.repeat(2_000) },
    { _id: 'ending:2', kind: 'ending', callId: newCallId(), attempts: 'many', dueAt: at },
    { ...due, _id: `estimate:${whole}`, kind: 'estimate', callId: whole },
  ] as never);
  await reconcileNow(stack.config, 60_000);
  expect(await checkOf('estimate', whole)).toBeNull();
  for (const id of ['1', '2']) expect(await checkOf('ending', id)).toMatchObject({ attempts: 1 });
}, 120_000);

it('a concurrency slot without a valid time does not stop the release of others', async () => {
  const { database } = stack;
  const { accountId } = await stack.newAccount();
  const [broken, left] = [newCallId(), newCallId()];
  const one = (callId: string, lease: unknown) => ({ count: 1, epoch: 0, leases: { [callId]: lease } });
  await database.leases.collection.insertMany([
    { _id: `${accountId}~live`, ...one(broken, { acquiredAt: 'yesterday' }) },
    { _id: `${accountId}~test`, ...one(left, { acquiredAt: new Date(0) }) },
  ] as never);
  await reconcileNow(stack.config, 60_000);
  expect(await database.leases.findById(`${accountId}~test`).lean()).toMatchObject({ count: 0 });
  expect(await database.leases.findById(`${accountId}~live`).lean()).toMatchObject({ count: 0 });
}, 120_000);
