import { createErasures } from '../../src/calls/erasure/create-erasures.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { eraseWorkflowId } from '../../src/calls/follow-ups.js';
import { readRunState } from '../../src/calls/runs.js';
import { isFinalStatus } from '../../src/kernel/call-state.js';
import { DELETED_WITHIN_MS } from '../support/deleted-workflows.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { createBrowser, type Browser } from '../support/http/portal-support.js';

const TEST_MS = 3 * DELETED_WITHIN_MS;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

type Erasures = ReturnType<typeof createErasures>;

function withErasures<T>(
  use: (erasures: Erasures) => Promise<T>,
  gateway: Parameters<typeof createErasures>[0]['gateway'] = service.gateway,
) {
  const { config, database } = service;
  return service.withClient((client) => use(createErasures({ config, database, gateway, client })));
}
const stateOf = (callId: string) => service.withClient((client) => readRunState(client, callId));

/** Places a call that ends at once, and waits until its workflow is closed. */
async function endedCall({ agent, testKey }: Customer, number: string): Promise<string> {
  const { status, json } = await service.place(testKey, { to_phone_number: number, agent_id: agent._id });
  expect(status).toBe(200);
  const callId = String(json['call_id']);
  await eventually(async () => {
    const call = await service.database.calls.findById(callId).lean();
    return call !== null && isFinalStatus(call.status) && (await stateOf(callId)) === 'closed';
  });
  return callId;
}

describe('an interrupted erasure leaves no workflow of a call', () => {
  it(
    'of a number',
    async () => {
      const number = '+12025550131';
      const callId = await endedCall(await service.customer(), number);
      const broken = { erase: () => Promise.reject(new Error('Temporal does not answer.')) };
      await expect(withErasures(({ numbers }) => numbers.erase(number), broken)).rejects.toThrow('does not answer');
      await eventually(async () => (await stateOf(callId)) === 'gone', DELETED_WITHIN_MS);
      expect(await withErasures(({ numbers }) => numbers.erase(number))).toMatchObject({ calls: [callId] });
      expect(await service.database.calls.findById(callId).lean()).toMatchObject({ toPhoneNumber: '' });
    },
    TEST_MS,
  );

  it(
    'whose erasure was requested again after a restore of the database',
    async () => {
      const { testKey, ...customer } = await service.customer();
      const callId = await endedCall({ testKey, ...customer }, '+12025550134');
      const { calls } = service.database;
      const before = await calls.findById(callId).lean<CallDocument>();
      const workflowId = eraseWorkflowId(callId);
      const erase = async () => {
        const { status, json } = await managementOf(service).post(`/calls/${callId}/erase`, testKey);
        expect([status, json]).toEqual([200, { call_id: callId, erased_at: expect.any(String) as string }]);
        expect(await calls.findById(callId).lean()).toMatchObject({ toPhoneNumber: '' });
        // It would run for minutes, and erase the call once more.
        await service.withClient(({ workflow }) => workflow.getHandle(workflowId).terminate());
      };
      const states = () =>
        service.withClient(async ({ workflow }) => {
          const found: string[] = [];
          for await (const { status } of workflow.list({ query: `WorkflowId = '${workflowId}'` }))
            found.push(status.name);
          return found;
        });
      await erase();
      await calls.collection.replaceOne({ _id: callId as never }, { ...before });
      await erase();
      await eventually(async () => (await states()).join(' ') === 'TERMINATED TERMINATED');
      expect(await withErasures(({ accounts }) => accounts.erase(customer.account._id))).toMatchObject({
        workflowsDeleted: 3,
        workflowsLeft: 0,
      });
      await eventually(async () => (await states()).length === 0, DELETED_WITHIN_MS);
    },
    TEST_MS,
  );

  it(
    'of an account whose calls were erased before',
    async () => {
      const customer = await service.customer();
      const callId = await endedCall(customer, '+12025550132');
      await service.database.calls.updateOne({ _id: callId }, { $set: { erasedAt: new Date() } });
      expect(await withErasures(({ accounts }) => accounts.erase(customer.account._id))).toMatchObject({
        calls: 0,
        workflowsDeleted: 1,
        workflowsLeft: 0,
      });
      await eventually(async () => (await stateOf(callId)) === 'gone', DELETED_WITHIN_MS);
    },
    TEST_MS,
  );
});

describe('the erasure of an account', () => {
  it('ends sessions before keys, so that no key that a member makes meanwhile remains', async () => {
    const owner: Browser = createBrowser(service);
    await owner.signUp();
    const { json } = await owner.get('/account');
    const accountId = String(json['account_id']);
    const making = (async () => {
      const statuses: number[] = [];
      while (!statuses.some((status) => status >= 400)) {
        statuses.push((await owner.post('/api_keys?mode=test', { name: 'late' })).status);
      }
      return statuses;
    })();
    await withErasures(({ accounts }) => accounts.erase(accountId));
    await making;
    expect(await service.database.apiKeys.countDocuments({ accountId })).toBe(0);
    expect(await service.database.sessions.countDocuments({ accountId })).toBe(0);
  });

  it('leaves no reason of an operator', async () => {
    const { account } = await service.customer();
    const ledgerAccountId = `${account._id}~live#0`;
    const at = new Date();
    const { accountFreezes, reconciliationFindings } = service.database;
    const freeze = { ledgerAccountId, action: 'freeze', reason: 'Ada Lovelace called.', by: 'operator', at } as const;
    await accountFreezes.create({ _id: `freeze_${account._id}`, ...freeze });
    const finding = {
      ledgerAccountId,
      kind: 'hold_overdue',
      expected: {},
      actual: {},
      firstSeenAt: at,
      lastSeenAt: at,
    } as const;
    await reconciliationFindings.create({ _id: `hold_overdue:${account._id}`, ...finding, reason: 'Ada agreed.' });
    await withErasures(({ accounts }) => accounts.erase(account._id));
    const left = [
      await accountFreezes.find({ ledgerAccountId }).lean(),
      await reconciliationFindings.find({ ledgerAccountId }).lean(),
    ];
    expect(left.map(([row]) => row?.reason)).toEqual(['erased account', 'erased account']);
  });

  it('a number in an id of a payment, in a reason of the ledger or elsewhere is reported', async () => {
    const { account } = await service.customer();
    const number = '+12025550133';
    const fields = { ledgerAccountId: `${account._id}~live#0`, type: 'correction', epoch: 0, at: new Date() } as const;
    await service.database.ledgerEntries.create({
      _id: `correct:${account._id}`,
      ...fields,
      reason: `Paid by ${number}.`,
    });
    await service.database.payments.create({
      _id: `cash ${number}`,
      accountId: account._id,
      mode: 'live',
      amountMicros: 1,
      receivedAt: new Date(),
    });
    expect(await withErasures(({ numbers }) => numbers.erase(number))).toMatchObject({
      left: { ledger_entries: 1, payments: 1 },
    });
  });
});
