import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { eraseWorkflowId } from '../../../src/calls/follow-ups.js';
import { isFinalStatus } from '../../../src/kernel/call-state.js';
import { connectionOptions } from '../../../src/platform/temporal/connection.js';
import { createTemporalCheck } from '../../../src/platform/temporal/health.js';
import { createWorkerReadiness } from '../../../workers/worker-health.js';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { newCallId } from '../../support/store/test-database.js';

const BACKLOG = 20;
const BUNDLE = path.resolve(__dirname, '../../../dist/workers/workflow-bundle.js');

const receiver = createServer((_, response) => response.end());
const workers: ReturnType<Service['startWorker']>[] = [];
let service: Service;
let customer: Customer;
let queues: Service['config']['temporal']['taskQueues'];
let order: Record<string, string>;

/** At first, the only worker takes live calls. */
beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  order = { to_phone_number: '+12025550100', instruction: 'Hello.', webhook_url: webhook };
  service = await startService({ worker: false });
  queues = service.config.temporal.taskQueues;
  customer = await service.customer();
  workers.push(service.startWorker({ queues: ['calls'] }));
  // The first call waits while code is loaded and connections are opened.
  await eventually(async () => (await service.place(customer.liveKey, order)).status === 200);
}, 120_000);
afterAll(async () => {
  for (const { stop } of workers) stop.abort();
  await Promise.all(workers.map(({ worker }) => worker));
  await service.close();
  receiver.close();
});

/** Returns the queues of all tasks in a workflow's history, its activities, and how many of its tasks a worker began. */
function tasksOf(workflowId: string) {
  return service.withClient(async ({ workflow }) => {
    const events = (await workflow.getHandle(workflowId).fetchHistory()).events ?? [];
    const activities = events.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    const [start] = events.flatMap((event) => event.workflowExecutionStartedEventAttributes ?? []);
    return {
      queues: [...new Set([start, ...activities].map((task) => task?.taskQueue?.name))],
      activities: activities.map(({ activityType }) => activityType?.name),
      begun: events.filter((event) => event.workflowTaskStartedEventAttributes).length,
    };
  });
}

/** Returns how many processes ask for tasks of a queue. */
function pollersOf(name: string): Promise<number> {
  return service.withClient(async ({ connection, options: { namespace } }) => {
    const kinds = [1, 2].map((taskQueueType) =>
      connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    );
    return (await Promise.all(kinds)).reduce((count, { pollers }) => count + (pollers?.length ?? 0), 0);
  });
}

const resultOf = (workflowId: string) =>
  service.withClient(({ workflow }) => workflow.getHandle(workflowId).result() as Promise<unknown>);

/** Places a live call, whose dial fails, and returns its id when its webhook has been delivered. */
async function endedLiveCall(): Promise<string> {
  const placed = await service.place(customer.liveKey, order);
  expect(placed.status).toBe(200);
  const callId = String(placed.json['call_id']);
  await resultOf(callId);
  const call = await service.database.calls.findById(callId).lean();
  expect(isFinalStatus(call?.status ?? 'IDLE')).toBe(true);
  return callId;
}

describe('a worker of the queue calls', () => {
  const erased = Array.from({ length: BACKLOG }, newCallId);
  let waiting: Promise<unknown>;
  let testCall: string;

  it('runs live calls to their webhook while test calls and erasures wait', async () => {
    await Promise.all(erased.map((callId) => service.gateway.erase(callId)));
    waiting = service.place(customer.testKey, order);
    const accountId = customer.account._id;
    testCall = await eventually(async () => {
      const request = await service.database.callRequests.findOne({ accountId, mode: 'test' }).lean();
      return request?._id;
    });
    const live = await tasksOf(await endedLiveCall());
    expect(live).toMatchObject({ queues: [queues.calls] });
    expect(live.activities).toEqual(expect.arrayContaining(['dialCallee', 'deliverWebhook']));
    const background = await Promise.all([testCall, ...erased.map(eraseWorkflowId)].map(tasksOf));
    expect(background).toEqual(background.map(() => ({ queues: [queues.background], activities: [], begun: 0 })));
    expect(await pollersOf(queues.background)).toBe(0);
  }, 60_000);

  it('continues what began in its queue when it was the only one', async () => {
    const callId = await endedLiveCall();
    const workflowId = eraseWorkflowId(callId);
    await service.withClient(({ workflow }) =>
      workflow.start('EraseWorkflow', { workflowId, taskQueue: queues.calls, args: [{ callId }] }),
    );
    await eventually(() => service.database.calls.exists({ _id: callId, erasedAt: { $exists: true } }));
    // A request that is repeated after the update finds it.
    await service.gateway.erase(callId);
    expect(await tasksOf(workflowId)).toMatchObject({ queues: [queues.calls] });
  }, 60_000);

  it('leaves test calls and erasures to a worker of the queue background', async () => {
    workers.push(service.startWorker({ queues: ['background'] }));
    await eventually(async () => (await Promise.all(erased.map((id) => tasksOf(eraseWorkflowId(id))))).every(isBegun));
    await waiting;
    const placed = await eventually(async () => {
      const response = await service.place(customer.testKey, order);
      return response.status === 200 && response;
    });
    const callId = String(placed.json['call_id']);
    await resultOf(callId);
    await resultOf(testCall);
    for (const id of [callId, testCall]) expect(await tasksOf(id)).toMatchObject({ queues: [queues.background] });
    expect((await tasksOf(callId)).activities).toContain('deliverWebhook');
  }, 60_000);

  const isBegun = ({ begun }: { begun: number }) => begun > 0;
});

it('a process is ready only while it asks for tasks of all its queues', async () => {
  const connection = await NativeConnection.connect(connectionOptions(service.config.temporal));
  const shared = { connection, workflowBundle: { codePath: BUNDLE }, activities: { none: async () => undefined } };
  const both = await Promise.all(
    Object.values(queues).map((name) => Worker.create({ ...shared, taskQueue: `${name}-ready` })),
  );
  const runs = both.map((worker) => worker.run());
  const { namespace } = service.config.temporal;
  const check = createWorkerReadiness(
    both,
    createTemporalCheck({ connection, namespace, taskQueue: `${queues.calls}-ready` }),
  );
  await eventually(async () => (await check()).status === 'ready');
  both[1]?.shutdown();
  await runs[1];
  expect(await check()).toEqual({ status: 'unavailable', pollers: 'away', temporal: 'ok' });
  both[0]?.shutdown();
  await runs[0];
  await connection.close();
}, 60_000);
