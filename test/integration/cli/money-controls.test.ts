import { randomUUID } from 'node:crypto';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createFindings } from '../../../src/calls/reconciliation/findings.js';
import { createLeases } from '../../../src/billing/leases.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { newCallId } from '../../support/store/test-database.js';
import { runAdmin } from './support/run-cli.js';
import { callRequest } from '../../support/store/call-request.js';

type Fields = Record<string, unknown>;

const SECOND = 2_500;

describe('callwright admin, corrections of money and slots', () => {
  const uri = `${process.env.TEST_MONGODB_URI}/cli_${randomUUID().slice(0, 8)}`;
  const env = { MONGODB_URI: uri };
  let database: Database;
  let ledger: Ledger;
  let accountId: string;
  let money: string;
  beforeAll(async () => {
    database = await openDatabase(uri);
    await createIndexes(database);
    ledger = createLedger(database);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    accountId = String((await json('accounts', 'create', 'Acme')).account_id);
    money = ledgerAccountId(accountId, 'live');
    await ledger.topUp({ ledgerAccountId: money, paymentId: 'p1', amountMicros: 1_000 * SECOND });
  });

  async function json<T = Fields>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  /** Runs a command that must fail and returns its exit code and error object. */
  async function failure(...args: string[]): Promise<{ code: number; error_code: string; message: string }> {
    const { code, stderr } = await runAdmin([...args, '--json'], env);
    expect(stderr).not.toMatch(/^\s+at /m);
    return { code, ...(JSON.parse(stderr) as { error_code: string; message: string }) };
  }

  const hold = (callId: string, window = 0) =>
    ledger.hold({ ledgerAccountId: money, callId, window, maxDurationSeconds: 600, microsPerSecond: 2_500 });

  /** Creates a call that was billed for `seconds`. */
  async function billedCall(seconds: number): Promise<string> {
    const callId = newCallId();
    await createCallRequests(database).insert(
      callRequest({
        _id: callId,
        accountId,
        toPhoneNumber: '+12025550177',
        agentId: 'agent_tmp_00000000000000000000000001',
      }),
    );
    await hold(callId);
    await ledger.settle({ ledgerAccountId: money, callId, billedSeconds: seconds });
    return callId;
  }

  describe('correct', () => {
    const correct = (callId: string, usd: string, reference: string, reason = 'the line was dead') => [
      'correct',
      callId,
      usd,
      '--reference',
      reference,
      '--reason',
      reason,
    ];

    it('returns money once per reference, as an entry with its reason, and the audit stays exact', async () => {
      const callId = await billedCall(30);
      const first = await json(...correct(callId, '0.025', 'ticket-1'));
      expect(first).toMatchObject({
        call_id: callId,
        account_id: accountId,
        mode: 'live',
        entry_id: `C${callId}~1`,
        reference: 'ticket-1',
        amount_micros: 25_000,
        repeated: false,
        available_micros: 980 * SECOND,
      });
      expect(await json(...correct(callId, '0.025', 'ticket-1'))).toEqual({ ...first, repeated: true });
      expect(await json(...correct(callId, '0.025', 'ticket-2'))).toMatchObject({ entry_id: `C${callId}~2` });
      expect(await ledger.balance(money)).toMatchObject({ billedMicros: 10 * SECOND, availableMicros: 990 * SECOND });
      expect(await json<Fields[]>('audit', accountId)).toMatchObject([{ balanced: true }, { balanced: true }]);
      const entries = await json<Fields[]>('ledger', accountId);
      expect(entries.filter(({ type }) => type === 'correction')).toMatchObject([
        { call_id: callId, reason: 'the line was dead', billed_micros: -25_000, available_micros: 25_000 },
        { call_id: callId, reason: 'the line was dead', billed_micros: -25_000 },
      ]);
    });

    it('returns money once per reference to concurrent commands, and never more than was billed', async () => {
      const callId = await billedCall(30);
      const correctWith = (reference: string) => runAdmin(correct(callId, '0.025', reference), env);
      const references = ['a', 'a', 'b', 'b', 'c', 'd'];
      const codes = (await Promise.all(references.map(correctWith))).map(({ code }) => code);
      // The call was billed 30 s, which allow three corrections of 10 s. So at least one of the four corrections fails.
      expect(codes.filter((code) => code === 2).length).toBeGreaterThanOrEqual(1);
      expect(await ledger.balance(money)).toMatchObject({ billedMicros: 0, availableMicros: 1_000 * SECOND });
      expect(await ledger.audit(money)).toMatchObject({ balanced: true });
      const entries = await database.ledgerEntries.find({ callId, type: 'correction' }).lean();
      expect(new Set(entries.map(({ reference }) => reference)).size).toBe(3);
      expect(entries).toHaveLength(3);
    });

    it('rejects a reference that was used for another amount or reason', async () => {
      const callId = await billedCall(30);
      await json(...correct(callId, '0.01', 'ticket-1'));
      const before = await ledger.balance(money);
      for (const other of [
        correct(callId, '0.02', 'ticket-1'),
        correct(callId, '0.01', 'ticket-1', 'for another reason'),
      ]) {
        expect(await failure(...other)).toMatchObject({ code: 1, error_code: 'IDEMPOTENCY_CONFLICT' });
      }
      expect(await ledger.balance(money)).toEqual(before);
    });

    it.each(['0', '-1', '0.0000001', '1e3', 'NaN', '9007199254740993', ''])('rejects the amount "%s"', async (usd) => {
      const callId = await billedCall(30);
      const before = await ledger.balance(money);
      const { code, stderr } = await runAdmin(correct(callId, usd, 'ticket-1'), env);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^error: .*invalid for argument 'usd'\. The value must be /);
      expect(await ledger.balance(money)).toEqual(before);
    });

    it('rejects more than was billed, an unknown or unsettled call, and a bad reference or reason', async () => {
      const callId = await billedCall(30);
      const running = newCallId();
      await hold(running);
      const before = await ledger.balance(money);
      const bad = { code: 2, error_code: 'MISSING_PARAMS' };
      expect(await failure(...correct(callId, '0.0751', 'r'))).toMatchObject({
        ...bad,
        message: 'amount must not exceed the bill of the call minus its earlier corrections.',
      });
      expect(await failure(...correct(running, '0.01', 'r'))).toMatchObject({ code: 1, error_code: 'CALL_NOT_FOUND' });
      expect(await failure(...correct('no-call', '0.01', 'r'))).toMatchObject({
        code: 1,
        error_code: 'CALL_NOT_FOUND',
      });
      expect(await failure(...correct(callId, '0.01', 'a b'))).toMatchObject(bad);
      expect(await failure(...correct(callId, '0.01', 'r', ' '))).toMatchObject(bad);
      expect((await runAdmin(['correct', callId, '0.01', '--reference', 'r'], env)).code).toBe(2);
      expect(await ledger.balance(money)).toEqual(before);
      expect(await ledger.audit(money)).toMatchObject({ balanced: true });
    });
  });

  describe('accounts freeze', () => {
    it('blocks first holds in both modes until it is lifted, lets running calls continue, and is shown', async () => {
      const runningCall = newCallId();
      await hold(runningCall);
      const frozen = await json('accounts', 'freeze', accountId, '--reason', 'unpaid bill');
      const shown = { reason: 'unpaid bill', at: expect.any(String) as string, by: expect.any(String) as string };
      expect(frozen).toEqual({
        account_id: accountId,
        frozen: [
          { mode: 'live', ...shown },
          { mode: 'test', ...shown },
        ],
      });
      expect(await json('accounts', 'freeze', accountId, '--reason', 'unpaid bill')).toEqual(frozen);
      expect(await json('accounts', 'show', accountId)).toMatchObject({ frozen: frozen.frozen });
      expect(await hold(newCallId())).toMatchObject({ grantedSeconds: 0, refusal: 'ACCOUNT_FROZEN' });
      expect(await hold(runningCall, 1)).toMatchObject({ grantedSeconds: 180 });

      const partly = await json('accounts', 'unfreeze', accountId, '--reason', 'paid', '--mode', 'live');
      expect(partly.frozen).toMatchObject([{ mode: 'test' }]);
      expect(await hold(newCallId())).toMatchObject({ grantedSeconds: 60 });
      expect((await json('accounts', 'unfreeze', accountId, '--reason', 'paid')).frozen).toEqual([]);
      expect(await json('accounts', 'show', accountId)).not.toHaveProperty('frozen');
      // The history keeps each freeze and unfreeze with its operator and reason.
      const history = await database.accountFreezes.find({ ledgerAccountId: money }).sort({ _id: 1 }).lean();
      expect(history).toMatchObject([
        { action: 'freeze', reason: 'unpaid bill' },
        { action: 'unfreeze', reason: 'paid' },
      ]);
    });

    it('does not lift the freeze of a finding, and is not lifted with a finding', async () => {
      const finding = { kind: 'account_unbalanced' as const, ledgerAccountId: money, expected: {}, actual: { x: 1 } };
      await createFindings(database).record(finding);
      await ledger.freeze(money, 'reconciliation: account_unbalanced');
      const rejected = await failure('accounts', 'unfreeze', accountId, '--reason', 'please');
      expect(rejected).toMatchObject({ code: 1, message: expect.stringContaining('findings') as string });
      expect(await ledger.frozen(money)).not.toBeNull();

      await json('accounts', 'freeze', accountId, '--reason', 'fraud', '--mode', 'live');
      const id = `account_unbalanced:${money}`;
      expect(await json('findings', 'resolve', id, '--reason', 'known')).toMatchObject({ frozen: true });
      expect(await hold(newCallId())).toMatchObject({ refusal: 'ACCOUNT_FROZEN' });
      expect(await json('accounts', 'show', accountId)).toMatchObject({ frozen: [{ mode: 'live', reason: 'fraud' }] });
      await json('accounts', 'unfreeze', accountId, '--reason', 'cleared');
      expect(await hold(newCallId())).toMatchObject({ grantedSeconds: 60 });
    });

    it.each([
      ['no reason', []],
      ['an empty reason', ['--reason', ' ']],
      ['another mode', ['--reason', 'x', '--mode', 'dead']],
    ])('is rejected with %s', async (_name, options) => {
      for (const command of ['freeze', 'unfreeze']) {
        expect((await runAdmin(['accounts', command, accountId, ...options], env)).code).toBe(2);
      }
      expect(await ledger.frozen(money)).toBeNull();
    });

    it('is rejected for an unknown account', async () => {
      const answer = await failure('accounts', 'freeze', 'acct_none', '--reason', 'x');
      expect(answer).toMatchObject({ code: 1, error_code: 'NOT_FOUND' });
    });
  });

  describe('concurrency slots', () => {
    it('are audited with the money, and recounted when an operator resolves the finding with --recount', async () => {
      const leases = createLeases(database);
      const mode = 'live';
      await leases.acquire({ accountId, mode, callId: newCallId(), limit: 5 });
      expect(await json<Fields[]>('audit', accountId)).toMatchObject([
        { balanced: true, places: { counted: 1, taken: 1 } },
        { places: { counted: 0, taken: 0 } },
      ]);
      await database.leases.updateOne({ _id: `${accountId}~live` }, { $inc: { count: 3 } });
      expect(await failure('audit', accountId)).toMatchObject({
        code: 1,
        message: '1 of 2 slot counters do not match the taken slots.',
      });
      await createFindings(database).record({
        kind: 'places_miscounted',
        ledgerAccountId: money,
        expected: { count: 1 },
        actual: { count: 4 },
      });
      const id = `places_miscounted:${money}`;
      expect(await json('findings', 'resolve', id, '--reason', 'found', '--recount')).toMatchObject({ frozen: false });
      expect(await leases.slotsOf({ accountId, mode })).toMatchObject({ count: 1, taken: [{ accountId }] });
      expect((await runAdmin(['audit', accountId], env)).code).toBe(0);
    });

    it('are not recounted for a finding of another kind', async () => {
      const finding = { kind: 'account_unbalanced' as const, ledgerAccountId: money, expected: {}, actual: { x: 1 } };
      await createFindings(database).record(finding);
      const resolve = ['findings', 'resolve', `account_unbalanced:${money}`, '--reason', 'x', '--recount'];
      expect(await failure(...resolve)).toMatchObject({ code: 2, error_code: 'MISSING_PARAMS' });
    });
  });
});
