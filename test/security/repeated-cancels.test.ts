import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { eraseWorkflowId } from '../../src/calls/follow-ups.js';
import { createCallProjection } from '../../src/calls/projection.js';
import type { Mode } from '../../src/kernel/ids.js';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { newCallId } from '../support/store/test-database.js';
import { callRequest } from '../support/store/call-request.js';

let service: Service;
let reads: number;

beforeAll(async () => {
  const uri = `${process.env['TEST_MONGODB_URI']}/cancels_${randomUUID()}?monitorCommands=true`;
  service = await startService({ worker: false, env: { MONGODB_URI: uri } });
  service.database.connection.getClient().on('commandStarted', ({ command }) => {
    if (command['find'] === 'calls') reads += 1;
  });
});
beforeEach(() => (reads = 0));
afterAll(() => service.close());

/** Creates a call that rings and that has no workflow. */
async function ringing({ account, agent }: Customer, mode: Mode): Promise<string> {
  const callId = newCallId();
  const request = callRequest({
    _id: callId,
    accountId: account._id,
    mode,
    toPhoneNumber: '+12025550124',
    agentId: agent._id,
  });
  await service.database.callRequests.create(request);
  await createCallProjection(service.database).begin(request, { callId, sequence: 1, at: Date.now() });
  return callId;
}

const end = (callId: string) =>
  createCallProjection(service.database).apply({
    callId,
    sequence: 2,
    at: Date.now(),
    endTime: Date.now(),
    status: 'CANCELLED',
    endReason: 'api_hangup',
  });

const cancel = (callId: string, key: string) => managementOf(service).post(`/calls/${callId}/cancel`, key);

describe('requests that cancel a call and wait for its end', () => {
  it('share their database reads', async () => {
    const customer = await service.customer();
    const calls = [await ringing(customer, 'test'), await ringing(customer, 'test')];
    const cancels = Array.from({ length: 16 }, (_, n) => cancel(calls[n % 2] ?? '', customer.testKey));
    await sleep(4_000);
    // Each request reads the call once by itself. Later reads are shared by all requests.
    expect(reads).toBeLessThan(16 + 40);
    for (const callId of calls) await end(callId);
    for (const response of await Promise.all(cancels)) {
      expect(response).toMatchObject({ status: 200, json: { result: 'cancelled', status: 'CANCELLED' } });
    }
  }, 60_000);

  it('are limited to 20 per account and mode, without an effect on other accounts and live mode', async () => {
    const customer = await service.customer();
    const other = await service.customer();
    const callId = await ringing(customer, 'test');
    const cancels = Array.from({ length: 25 }, () => cancel(callId, customer.testKey));
    const answered: ServiceResponse[] = [];
    for (const each of cancels) void each.then((response) => answered.push(response));
    await sleep(4_000);
    expect(answered).toHaveLength(5);
    for (const response of answered) {
      expectError(response, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
      expect(response.json).toMatchObject({ limit: 20, current: 20 });
    }
    const [live, foreign] = [await ringing(customer, 'live'), await ringing(other, 'test')];
    const otherCancels = [cancel(live, customer.liveKey), cancel(foreign, other.testKey)];
    await sleep(1_000);
    for (const each of [callId, live, foreign]) await end(each);
    expect((await Promise.all(otherCancels)).map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(cancels);
    expect(answered.filter(({ status }) => status === 200)).toHaveLength(20);
  }, 60_000);

  it('add at most one entry to the audit log for a call if their clients leave, and none while they wait', async () => {
    const customer = await service.customer();
    const entries = () => service.database.auditEntries.find({ accountId: customer.account._id }).lean();
    const leaving = (callId: string) =>
      fetch(`http://127.0.0.1:${service.port}/calls/${callId}/cancel`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${customer.testKey}` },
        signal: AbortSignal.timeout(300),
      }).catch(() => undefined);
    const [busy, other] = [await ringing(customer, 'test'), await ringing(customer, 'test')];
    // Two cancels of an account run at a time.
    const taken = [cancel(busy, customer.testKey), cancel(busy, customer.testKey)];
    await eventually(async () => reads > 0);
    for (let i = 0; i < 5; i++) await leaving(other);
    await end(busy);
    expect((await Promise.all(taken)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await entries()).filter(({ target }) => target === other)).toEqual([]);
    for (let i = 0; i < 5; i++) await leaving(other);
    await eventually(async () => (await entries()).some(({ target }) => target === other));
    await sleep(500);
    expect((await entries()).filter(({ target }) => target === other)).toEqual([
      expect.objectContaining({ unconfirmed: true, action: 'cancelCall' }),
    ]);
    await end(other);
  }, 60_000);

  it('end four test calls at once, two of one account, and each live call at once', async () => {
    const { address, namespace, taskQueues } = service.config.temporal;
    const connection = await Connection.connect({ address });
    const { workflow } = new Client({ connection, namespace });
    const hungUp = async (callIds: readonly string[]) => {
      const signaled: string[] = [];
      for (const callId of callIds) {
        const { events } = await workflow.getHandle(callId).fetchHistory();
        if (events?.some((event) => event.workflowExecutionSignaledEventAttributes)) signaled.push(callId);
      }
      return signaled;
    };
    const customers = [await service.customer(), await service.customer(), await service.customer()];
    const started = async (customer: Customer, mode: Mode) => {
      const callId = await ringing(customer, mode);
      await workflow.start('call', { workflowId: callId, taskQueue: taskQueues.calls });
      return callId;
    };
    try {
      const calls: { callId: string; customer: Customer }[] = [];
      for (const customer of customers) {
        for (let i = 0; i < 3; i++) calls.push({ customer, callId: await started(customer, 'test') });
      }
      const callIds = calls.map(({ callId }) => callId);
      const cancels = calls.map(({ callId, customer }) => cancel(callId, customer.testKey));
      await eventually(async () => (await hungUp(callIds)).length >= 4);
      const live = await Promise.all(customers.map((customer) => started(customer, 'live')));
      const liveCancels = live.map((callId, i) => cancel(callId, customers[i]?.liveKey ?? ''));
      await eventually(async () => (await hungUp(live)).length === live.length);

      const ended = new Set<string>();
      while (ended.size < callIds.length) {
        const current = (await hungUp(callIds)).filter((callId) => !ended.has(callId));
        expect(current.length).toBeLessThanOrEqual(4);
        for (const customer of customers) {
          const own = calls.filter((call) => call.customer === customer && current.includes(call.callId));
          expect(own.length).toBeLessThanOrEqual(2);
        }
        const [next] = current;
        if (next !== undefined) await end(next);
        if (next !== undefined) ended.add(next);
        await sleep(300);
      }
      for (const callId of live) await end(callId);
      const responses = await Promise.all([...cancels, ...liveCancels]);
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      for (const callId of [...callIds, ...live]) await workflow.getHandle(callId).terminate();
    } finally {
      await connection.close();
    }
  }, 60_000);

  it.each<[Mode, number, number]>([
    ['test', 2, 1],
    ['live', 4, 2],
  ])(
    'erase few %s calls at once: %i, and %i of one account',
    async (mode, atOnce, ofAccount) => {
      const { address, namespace } = service.config.temporal;
      const connection = await Connection.connect({ address });
      const { workflow } = new Client({ connection, namespace });
      const isBegun = (callId: string) =>
        workflow
          .getHandle(eraseWorkflowId(callId))
          .describe()
          .then(
            () => true,
            () => false,
          );
      try {
        const calls: string[] = [];
        const erasures: Promise<ServiceResponse>[] = [];
        for (const customer of [await service.customer(), await service.customer(), await service.customer()]) {
          for (let i = 0; i <= ofAccount; i++) {
            const callId = await ringing(customer, mode);
            await end(callId);
            calls.push(callId);
            const key = mode === 'test' ? customer.testKey : customer.liveKey;
            erasures.push(managementOf(service).post(`/calls/${callId}/erase`, key));
          }
        }
        const begun = async () => {
          const states = await Promise.all(calls.map(isBegun));
          return calls.filter((_, i) => states[i]);
        };
        await eventually(async () => (await begun()).length >= atOnce);
        const erased = new Set<string>();
        while (erased.size < calls.length) {
          const current = (await begun()).filter((callId) => !erased.has(callId));
          expect(current.length).toBeLessThanOrEqual(atOnce);
          const customers = current.map((callId) => Math.floor(calls.indexOf(callId) / (ofAccount + 1)));
          for (const each of customers)
            expect(customers.filter((other) => other === each).length).toBeLessThanOrEqual(ofAccount);
          const [next] = current;
          if (next !== undefined) await createCallProjection(service.database).erase(next, new Date());
          if (next !== undefined) erased.add(next);
          await sleep(300);
        }
        expect((await Promise.all(erasures)).map(({ status }) => status)).toEqual(calls.map(() => 200));
        for (const callId of calls) await workflow.getHandle(eraseWorkflowId(callId)).terminate();
      } finally {
        await connection.close();
      }
    },
    60_000,
  );

  it('add one event to the workflow history of the call', async () => {
    const { address, namespace, taskQueues } = service.config.temporal;
    const connection = await Connection.connect({ address });
    try {
      const client = new Client({ connection, namespace });
      const workflowId = newCallId();
      const run = await client.workflow.start('call', { workflowId, taskQueue: taskQueues.calls });
      for (let n = 0; n < 3; n++) expect(await service.gateway.hangUp(workflowId, { cause: 'api_hangup' })).toBe(true);
      const { events = [] } = await run.fetchHistory();
      const signals = (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes);
      expect(signals).toHaveLength(1);
      await run.terminate();
    } finally {
      await connection.close();
    }
  }, 30_000);
});
