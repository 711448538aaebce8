import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import { scheduleReconciliation } from '../../../src/calls/reconciliation/schedule.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { registerStateMetrics } from '../../../src/calls/state-metrics.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createMetrics, type Metrics } from '../../../src/platform/telemetry/metrics/metrics.js';
import { createLeases } from '../../../src/billing/leases.js';
import { runAdmin } from '../cli/support/run-cli.js';
import { recordRun } from './recorded-histories.js';
import { byKey, MONEY, startReconciling, type Reconciling } from './reconcile-harness.js';

let stack: Reconciling;
let metrics: Metrics;

beforeAll(async () => {
  metrics = createMetrics({ role: 'worker', logger: createLogger({ role: 'test', level: 'silent' }) });
  stack = await startReconciling();
}, 120_000);
afterAll(async () => {
  await stack.stop();
  metrics.close();
});

describe('reconciliation of consistent records', () => {
  it('finds and freezes nothing while hundreds of operations and calls run', async () => {
    const accounts = await Promise.all([stack.newAccount(), stack.newAccount(), stack.newAccount()]);
    // A reservation must be decided within one second. So these calls start before the burst and end during it.
    const ringingCalls = [];
    for (let i = 0; i < 4; i++) ringingCalls.push(await stack.ringingCall());
    let isOver = false;
    const rounds = (async () => {
      const found: number[] = [];
      while (!isOver || found.length < 2) found.push((await stack.round()).newFindings);
      return found;
    })();
    const moves = accounts.flatMap(({ money }) =>
      Array.from({ length: 5 }, async (_, lane) => {
        for (let i = 0; i < 8; i++) {
          const call = { ledgerAccountId: money, callId: `call_${ulid()}` };
          await stack.ledger.topUp({ ledgerAccountId: money, paymentId: `${lane}-${i}`, amountMicros: 7 });
          for (const window of [0, 1])
            await stack.ledger.hold({ ...call, window, maxDurationSeconds: 600, microsPerSecond: 2_500 });
          await stack.ledger.settle({ ...call, billedSeconds: 0 });
        }
      }),
    );
    const calls = ringingCalls.map(async (call) => {
      await call.reportAnswer();
      await call.hangUp(7);
      await call.result();
      return call;
    });
    const [ended] = await Promise.all([Promise.all(calls), ...moves]).finally(async () => {
      isOver = true;
      await rounds;
    });
    expect(new Set(await rounds)).toEqual(new Set([0]));
    expect((await stack.round()).newFindings).toBe(0);
    for (const money of [...accounts, ...ended].map((each) => each.money)) {
      expect(await stack.openFindings(money)).toEqual([]);
      expect(await stack.ledger.frozen(money)).toBeNull();
      expect((await stack.ledger.audit(money)).balanced).toBe(true);
    }
    for (const call of ended) {
      expect(await call.balance()).toMatchObject({ billedMicros: 7 * 2_500, heldMicros: 0 });
    }
  }, 120_000);
});

describe('reconciliation of damaged records', () => {
  it('finds a lost entry once, freezes its account and repairs nothing', async () => {
    const { money, accountId } = await stack.newAccount();
    await stack.ledger.sweep(money);
    await stack.entries.deleteOne(byKey(`T${accountId}~live~p1`));
    const runningCall = {
      ledgerAccountId: money,
      callId: `call_${ulid()}`,
      maxDurationSeconds: 600,
      microsPerSecond: 2_500,
    };
    await stack.ledger.hold({ ...runningCall, window: 0 });
    const before = await stack.ledger.audit(money);
    expect((await stack.round()).newFindings).toBe(1);
    await recordRun(stack, stack.roundId, 'reconcile-sign-ups');
    const lost = {
      kind: 'account_unbalanced',
      expected: { availableMicros: -150_000, heldMicros: 150_000, creditedMicros: 0, billedMicros: 0 },
      actual: { availableMicros: MONEY - 150_000, heldMicros: 150_000, creditedMicros: MONEY, billedMicros: 0 },
    };
    expect(await stack.openFindings(money)).toEqual([lost]);
    expect((await stack.ledger.frozen(money))?.reason).toContain('account_unbalanced');
    expect((await stack.round()).newFindings).toBe(0);
    expect(await stack.openFindings(money)).toEqual([lost]);
    expect(await stack.ledger.audit(money)).toEqual(before);

    const newCall = { ...runningCall, callId: `call_${ulid()}`, window: 0 };
    expect(await stack.ledger.hold(newCall)).toMatchObject({ grantedSeconds: 0, refusal: 'ACCOUNT_FROZEN' });
    expect(await stack.ledger.hold({ ...runningCall, window: 1 })).toMatchObject({ grantedSeconds: 180 });

    registerStateMetrics(metrics.registry, stack.database);
    const exposed = await metrics.registry.metrics();
    expect(exposed).toMatch(/callwright_reconciliation_findings_total\{kind="account_unbalanced"\} [1-9]/);
    expect(exposed).toMatch(/callwright_reconciliation_open_findings\{kind="account_unbalanced"\} [1-9]/);
  });

  it('finds a changed balance, and after an operator closed it only another difference', async () => {
    const { money } = await stack.newAccount();
    const alter = (availableMicros: number) =>
      stack.database.ledgerAccounts.collection.updateOne(byKey(money), { $inc: { availableMicros } });
    await alter(1);
    await stack.round();
    expect(await stack.openFindings(money)).toMatchObject([
      { kind: 'account_unbalanced', expected: { availableMicros: MONEY }, actual: { availableMicros: MONEY + 1 } },
    ]);
    const id = `account_unbalanced:${money}`;
    const { findings } = stack;
    expect(await findings.resolve({ id, by: 'test', reason: 'known' })).toBe(true);
    await stack.ledger.topUp({ ledgerAccountId: money, paymentId: 'p2', amountMicros: 5 });
    await stack.round();
    expect(await stack.openFindings(money)).toEqual([]);
    expect(await findings.find(id)).toMatchObject({ reason: 'known' });
    await alter(1);
    await stack.round();
    expect(await stack.openFindings(money)).toHaveLength(1);
  });

  it('reads the entries of an account with a difference once, and finds the same difference again after its end', async () => {
    const { money } = await stack.newAccount();
    const alter = (availableMicros: number) =>
      stack.database.ledgerAccounts.collection.updateOne(byKey(money), { $inc: { availableMicros } });
    const checkpoint = () => stack.database.ledgerCheckpoints.findById(money).lean();
    await alter(1);
    await stack.round();
    // Later rounds read the entries since this checkpoint.
    const stored = await checkpoint();
    expect(stored).toMatchObject({ creditedMicros: MONEY, operationCount: 1 });
    await stack.round();
    expect(await checkpoint()).toEqual(stored);
    expect(await stack.openFindings(money)).toHaveLength(1);

    const id = `account_unbalanced:${money}`;
    await stack.findings.resolve({ id, by: 'test', reason: 'known' });
    await alter(-1);
    expect((await stack.round()).newFindings).toBe(0);
    await alter(1);
    expect((await stack.round()).newFindings).toBe(1);
    expect(await stack.openFindings(money)).toHaveLength(1);
  });

  it('audits an account with more entries than a step reads, and finds a lost one of them once', async () => {
    const { money, accountId } = await stack.newAccount();
    await stack.ledger.sweep(money);
    const [epochs, perEpoch] = [60, 100];
    const keyOf = (index: number) => `T${accountId}~live~many${index}`;
    const topUps = Array.from({ length: epochs * perEpoch }, (_, index) => {
      const epoch = 1 + Math.floor(index / perEpoch);
      return { ...byKey(keyOf(index)), ledgerAccountId: money, type: 'topUp', amountMicros: 1, epoch, at: new Date() };
    });
    await stack.entries.insertMany(topUps);
    const credited = { availableMicros: topUps.length, creditedMicros: topUps.length };
    await stack.database.ledgerAccounts.collection.updateOne(byKey(money), { $inc: { epoch: epochs, ...credited } });
    expect((await stack.round()).newFindings).toBe(0);
    const checkpoint = await stack.database.ledgerCheckpoints.findById(money).lean();
    expect(checkpoint).toMatchObject({ operationCount: topUps.length + 1, creditedMicros: MONEY + topUps.length });
    expect(checkpoint).not.toHaveProperty('counting');

    await stack.entries.deleteOne(byKey(keyOf(0)));
    await stack.database.ledgerCheckpoints.updateOne(byKey(money), { $set: { recountedAt: new Date(0) } });
    const found = [];
    for (let rounds = 0; rounds < 3; rounds += 1) found.push((await stack.round()).newFindings);
    expect(found).toEqual([0, 1, 0]);
    const creditedMicros = MONEY + topUps.length;
    expect(await stack.openFindings(money)).toMatchObject([
      { expected: { creditedMicros: creditedMicros - 1 }, actual: { creditedMicros } },
    ]);
    expect((await stack.ledger.frozen(money))?.reason).toContain('account_unbalanced');
  });

  it('finds a changed counter of the daily spending, and on another day again', async () => {
    const { money } = await stack.newAccount();
    const accounts = stack.database.ledgerAccounts.collection;
    const today = new Date().toISOString().slice(0, 10);
    await stack.ledger.hold({
      ledgerAccountId: money,
      callId: `call_${ulid()}`,
      window: 0,
      maxDurationSeconds: 600,
      microsPerSecond: 2_500,
    });
    const spentMicros = await stack.ledger.spentToday(money);
    await accounts.updateOne(byKey(money), { $inc: { spentMicros: 1 } });
    await stack.round();
    const spent = (date: string) => `spentOn${date}Micros`;
    expect(await stack.openFindings(money)).toMatchObject([
      {
        kind: 'account_unbalanced',
        expected: { [spent(today)]: spentMicros },
        actual: { [spent(today)]: spentMicros + 1 },
      },
    ]);
    const id = `account_unbalanced:${money}`;
    await stack.findings.resolve({ id, by: 'test', reason: 'known' });
    expect((await stack.round()).newFindings).toBe(0);
    await accounts.updateOne(byKey(money), { $inc: { spendDay: 1 }, $set: { spentMicros: 1 } });
    await stack.round();
    expect(await stack.openFindings(money)).toMatchObject([{ actual: { availableMicros: MONEY - spentMicros } }]);
    expect(Object.keys((await stack.findings.find(id))?.actual ?? {})).not.toContain(spent(today));
  });

  it('leaves an accepted difference closed when the day ends whose spending it has changed, too', async () => {
    const { money } = await stack.newAccount();
    const accounts = stack.database.ledgerAccounts.collection;
    await accounts.updateOne(byKey(money), {
      $inc: { availableMicros: -1, heldMicros: 1, spentMicros: 1, spendDay: 20_000 },
    });
    await stack.round();
    const id = `account_unbalanced:${money}`;
    expect(await stack.openFindings(money)).toMatchObject([
      { actual: { heldMicros: 1, 'spentOn2024-10-04Micros': 1 } },
    ]);
    await stack.findings.resolve({ id, by: 'test', reason: 'known' });
    await accounts.updateOne(byKey(money), { $inc: { spendDay: 1 }, $set: { spentMicros: 0 } });
    await stack.round();
    expect(await stack.openFindings(money)).toEqual([]);
    await accounts.updateOne(byKey(money), { $set: { spentMicros: 1 } });
    await stack.round();
    expect(await stack.openFindings(money)).toMatchObject([
      { actual: { heldMicros: 1, 'spentOn2024-10-05Micros': 1 } },
    ]);
  });

  it('finds a wrong count of slots, and changes neither the count nor the account’s calls', async () => {
    const leases = createLeases(stack.database);
    const { accountId, money } = await stack.newAccount();
    const acquire = (limit: number) => leases.acquire({ accountId, mode: 'live', callId: `call_${ulid()}`, limit });
    await acquire(5);
    await stack.database.leases.updateOne({ _id: `${accountId}~live` }, { $inc: { count: 2 } });
    // This call has no workflow, so reconciliation will release its slot before it compares the count.
    const places = await leases.slotsOf({ accountId, mode: 'live' });
    expect(places).toMatchObject({ count: 3, taken: [{ accountId, mode: 'live' }] });
    expect((await stack.round()).newFindings).toBe(1);
    const miscounted = { kind: 'places_miscounted', expected: { count: 1 }, actual: { count: 3 } };
    expect(await stack.openFindings(money)).toEqual([miscounted]);
    expect((await stack.round()).newFindings).toBe(0);
    // The round released the slot of the call without a workflow. That reduces the count by exactly one.
    expect(await leases.slotsOf({ accountId, mode: 'live' })).toMatchObject({ count: 2, taken: [] });
    expect(await stack.ledger.frozen(money)).toBeNull();
    expect(await acquire(2)).toEqual({ granted: false, limit: 2, current: 2 });
  });

  it('finds a call that was settled at another price than that of its request', async () => {
    const right = await stack.completedCall({ microsPerSecond: 40_000 });
    const wrong = await stack.completedCall();
    await stack.database.callRequests.updateOne({ _id: wrong.callId }, { $set: { microsPerSecond: 40_000 } });
    await stack.round();
    expect(await right.balance()).toMatchObject({ billedMicros: 7 * 40_000, heldMicros: 0 });
    expect(await stack.openFindings(right.money)).toEqual([]);
    expect(await stack.openFindings(wrong.money)).toMatchObject([
      { kind: 'settlement_mismatch', expected: { microsPerSecond: 40_000 }, actual: { microsPerSecond: 2_500 } },
    ]);
  });

  it('finds a changed settlement and a changed bill, with the values of both sides', async () => {
    const call = await stack.completedCall();
    await stack.ledger.sweep(call.money);
    await stack.entries.updateOne(byKey(`S${call.callId}`), { $set: { billedMicros: 20_000 } });
    const other = await stack.completedCall();
    await stack.database.calls.updateOne({ _id: other.callId }, { $set: { costMicros: 1 } });
    await stack.round();
    expect(await stack.openFindings(call.money)).toMatchObject([
      { kind: 'account_unbalanced', expected: { billedMicros: 20_000 }, actual: { billedMicros: 17_500 } },
      { kind: 'settlement_mismatch', expected: { billedMicros: 17_500 }, actual: { billedMicros: 20_000 } },
      { kind: 'bill_mismatch', expected: { costMicros: 20_000 }, actual: { costMicros: 17_500, durationSeconds: 7 } },
    ]);
    expect(await stack.openFindings(other.money)).toEqual([
      {
        kind: 'bill_mismatch',
        expected: { status: 'COMPLETED', durationSeconds: 7, costMicros: 17_500 },
        actual: { status: 'COMPLETED', durationSeconds: 7, costMicros: 1 },
      },
    ]);
    expect(await stack.ledger.frozen(other.money)).not.toBeNull();
    expect(await other.stored()).toMatchObject({ costMicros: 1 });
  });

  it('finds a bill on an uncharged call, and a final call without a settlement', async () => {
    const billed = await stack.completedCall();
    await stack.database.calls.updateOne({ _id: billed.callId }, { $set: { status: 'FAILED' } });
    const unsettled = await stack.completedCall();
    await stack.ledger.sweep(unsettled.money);
    await stack.entries.deleteOne(byKey(`S${unsettled.callId}`));
    await stack.round();
    expect(await stack.openFindings(billed.money)).toMatchObject([
      { kind: 'bill_mismatch', expected: { status: 'COMPLETED' }, actual: { status: 'FAILED' } },
    ]);
    expect((await stack.openFindings(unsettled.money)).map(({ kind }) => kind).toSorted()).toEqual([
      'account_unbalanced',
      'settlement_missing',
    ]);
  });
});

describe('operators', () => {
  const cli = (...args: string[]) =>
    runAdmin(args, {
      MONGODB_URI: `${process.env.TEST_MONGODB_URI}/${stack.database.connection.name}`,
      TEMPORAL_ADDRESS: stack.config.temporal.address,
      TEMPORAL_TASK_QUEUE: stack.config.temporal.taskQueues.calls,
    });

  it('run a round, list open findings, and resolve one with a reason and a credit, which lifts the freeze', async () => {
    for (const { _id } of await stack.findings.list()) {
      await stack.findings.resolve({ id: _id, by: 'test', reason: 'of other tests' });
    }
    expect(await cli('reconcile')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No open findings.') as string,
    });

    const call = await stack.completedCall();
    await stack.database.calls.updateOne({ _id: call.callId }, { $set: { costMicros: 20_000 } });
    const id = `bill_mismatch:${call.callId}`;
    const found = await cli('reconcile');
    expect(found.code).toBe(1);
    expect(found.stdout).toContain('bill_mismatch');
    const listed = await cli('findings', 'list', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { finding_id: id, call_id: call.callId, expected: { costMicros: 17_500 } },
    ]);

    expect((await cli('findings', 'resolve', id)).code).toBe(2);
    const resolve = () => cli('findings', 'resolve', id, '--reason', 'shown wrongly', '--credit', '0.0025', '--json');
    const resolved = await resolve();
    expect(JSON.parse(resolved.stdout)).toMatchObject({ finding_id: id, frozen: false, credited_micros: 2_500 });
    expect((await resolve()).code).toBe(1);
    expect(await stack.ledger.frozen(call.money)).toBeNull();
    expect(await call.balance()).toMatchObject({ billedMicros: 15_000 });
    expect(JSON.parse((await cli('findings', 'list', '--json')).stdout)).toEqual([]);
    expect((await cli('findings', 'list', '--all')).stdout).toContain('resolved: shown wrongly');
    expect((await cli('reconcile')).code).toBe(0);
  }, 120_000);
});

describe('the schedule', () => {
  it('starts a round each minute, never two at once, and is created once', async () => {
    const { temporal } = stack.config;
    const config = parseConfig({ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TASK_QUEUE: `none-${randomUUID()}` });
    await scheduleReconciliation(config);
    const handle = stack.environment.client.schedule.getHandle(`reconcile-ledger-${config.temporal.taskQueues.calls}`);
    await handle.pause('an operator');
    await scheduleReconciliation(config);
    const { spec, policies, action, state } = await handle.describe();
    expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
    expect(policies.overlap).toBe('SKIP');
    const { background } = config.temporal.taskQueues;
    expect(action).toMatchObject({ workflowType: 'ReconcileWorkflow', taskQueue: background });
    expect(state).toMatchObject({ paused: true, note: 'an operator' });
    await handle.delete();
  });
});
