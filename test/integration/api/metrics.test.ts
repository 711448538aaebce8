import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { placeCall } from '../../support/placed-call.js';
import { freePort, startRole } from '../../support/role-process';

const ROLES = ['api', 'worker', 'media', 'simulator', 'exporter'] as const;
type Role = (typeof ROLES)[number];

/** How much of each task queue the worker takes at once: everywhere another number. */
const CAPACITY = {
  WORKER_CALL_SLOTS: '21',
  WORKER_ACTIVITY_SLOTS: '22',
  WORKER_CALL_POLLERS: '7',
  WORKER_ACTIVITY_POLLERS: '6',
  WORKER_BACKGROUND_SLOTS: '11',
  WORKER_BACKGROUND_ACTIVITY_SLOTS: '12',
  WORKER_BACKGROUND_POLLERS: '4',
  WORKER_BACKGROUND_ACTIVITY_POLLERS: '3',
};

/** The samples of a scrape: the name with labels, and the value. */
type Samples = readonly (readonly [series: string, value: number])[];

let service: Service;
let customer: Customer;
let ports: Record<Role | 'API' | 'MEDIA' | 'SIMULATOR' | 'SDK', number>;
const running: Awaited<ReturnType<typeof startRole>>[] = [];

/** Starts every role in a separate process, as in production, each with its metrics. */
beforeAll(async () => {
  service = await startService({ worker: false });
  const names = [...ROLES, 'API', 'MEDIA', 'SIMULATOR', 'SDK'] as const;
  ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()]))) as typeof ports;
  const env = {
    NODE_ENV: 'test',
    MONGODB_URI: service.config.mongodbUri,
    TEMPORAL_ADDRESS: service.config.temporal.address,
    TEMPORAL_TASK_QUEUE: service.config.temporal.taskQueues.calls,
    API_PORT: String(ports.API),
    PUBLIC_BASE_URL: `http://127.0.0.1:${ports.API}`,
    MEDIA_PORT: String(ports.MEDIA),
    STREAM_URL: `ws://127.0.0.1:${ports.MEDIA}/stream`,
    SIMULATOR_PORT: String(ports.SIMULATOR),
    SIMULATOR_URL: `http://127.0.0.1:${ports.SIMULATOR}`,
    WORKER_METRICS_ADDRESS: `127.0.0.1:${ports.SDK}`,
    ...CAPACITY,
  };
  const started = ROLES.map((role) => startRole(role, { ...env, METRICS_PORT: String(ports[role]) }));
  running.push(...(await Promise.all(started)));
  customer = await service.customer();
}, 120_000);
afterAll(async () => {
  await Promise.all(running.map((role) => role.stop()));
  await service.close();
});

async function scrape(port: number): Promise<{ text: string; samples: Samples }> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  const text = await response.text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { text, samples: lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]) };
}

/** Sums the samples whose series match. */
const sum = (samples: Samples, series: RegExp) =>
  samples.reduce((total, [name, value]) => (series.test(name) ? total + value : total), 0);

async function placeCallFor(webhookUrl: string): Promise<string> {
  const { httpStatus, call_id: callId } = await placeCall(`http://127.0.0.1:${ports.API}`, customer.liveKey, {
    to_phone_number: '+12025550111',
    agent_id: customer.agent._id,
    webhook_url: webhookUrl,
    callback_url: webhookUrl,
  });
  expect(httpStatus).toBe(200);
  return callId;
}

it('a call appears in the metrics of every role, and its numbers and ids in none', async () => {
  const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const callId = await placeCallFor(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`);
  const during = await eventually(async () => {
    const media = await scrape(ports.media);
    return sum(media.samples, /^callwright_media_streams$/) === 1 && media;
  });
  expect(sum(during.samples, /^callwright_frame_lateness_seconds_count$/)).toBeGreaterThan(0);
  expect(sum((await scrape(ports.exporter)).samples, /^callwright_calls_in_progress\{mode="live"\}$/)).toBe(1);
  await eventually(
    async () => sum((await scrape(ports.worker)).samples, /^callwright_webhook_attempt_duration_seconds_count/) > 0,
    60_000,
  );
  receiver.close();

  const scrapes = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await scrape(ports[role])] as const)),
  ) as Record<Role, Awaited<ReturnType<typeof scrape>>>;
  const expected: Record<Role, RegExp[]> = {
    api: [
      /^callwright_http_request_duration_seconds_count\{method="POST",route="\/outbound_call",status="200",mode="live"\}$/,
      /^callwright_placing_decisions_total\{mode="live",outcome="accepted"\}$/,
      /^callwright_mongodb_command_duration_seconds_count$/,
      /^callwright_mongodb_connection_wait_seconds_count$/,
      /^callwright_mongodb_connections\{state="open"\}$/,
    ],
    worker: [
      /^callwright_calls_accepted_total\{mode="live",direction="outbound"\}$/,
      /^callwright_call_time_to_dial_seconds_count\{mode="live"\}$/,
      /^callwright_calls_ended_total\{mode="live",line="phone",direction="outbound",status="COMPLETED",end_reason="\w+"\}$/,
      /^callwright_carrier_request_duration_seconds_count\{mode="live",carrier="simulator",account="default",operation="dial",outcome="accepted"\}$/,
      /^callwright_webhook_ready_delay_seconds_count\{mode="live"\}$/,
      /^callwright_webhook_attempt_duration_seconds_count\{outcome="delivered"\}$/,
    ],
    media: [/^callwright_reply_latency_seconds_count\{mode="live",engine="offline-demo",stage="total"\}$/],
    simulator: [/^callwright_build_info\{role="simulator",version="[\d.]+"\}$/],
    exporter: [/^callwright_build_info\{role="exporter",version="[\d.]+"\}$/],
  };
  for (const role of ROLES) {
    const { samples, text } = scrapes[role];
    const servers = samples.filter(([series]) => series.startsWith('callwright_dependency_up'));
    const needed = { api: 2, worker: 2, media: 2, simulator: 0, exporter: 1 }[role];
    expect([role, servers.map(([, up]) => up)]).toEqual([role, Array.from({ length: needed }, () => 1)]);
    expect(sum(samples, new RegExp(`^callwright_serving\\{role="${role}"\\}$`))).toBe(1);
    for (const series of expected[role]) expect([role, series, sum(samples, series)]).not.toEqual([role, series, 0]);
    expect(sum(samples, /^nodejs_eventloop_lag_p99_seconds$/)).toBeGreaterThan(0);
    for (const secret of [callId, customer.account._id, customer.agent._id, '2025550111', customer.liveKey]) {
      expect(text).not.toContain(secret);
    }
  }
  expect(sum(scrapes.media.samples, /^callwright_media_streams$/)).toBe(0);
  // The workflow ends after its webhook was delivered.
  const sdk = await eventually(async () => {
    const scraped = await scrape(ports.SDK);
    return sum(scraped.samples, /^temporal_workflow_completed_total/) > 0 && scraped;
  });
  expect(sum(sdk.samples, /^temporal_activity_execution_latency_seconds_count/)).toBeGreaterThan(0);
  // Alerts use these.
  expect(sum(sdk.samples, /^temporal_workflow_task_schedule_to_start_latency_seconds_bucket/)).toBeGreaterThan(0);
  expect(sum(sdk.samples, /^temporal_workflow_task_queue_poll_succeed_total\{.*task_queue="/)).toBeGreaterThan(0);
  expect(sum(sdk.samples, /^temporal_num_pollers\{.*poller_type="/)).toBeGreaterThan(0);
  expect(sum(sdk.samples, /^temporal_workflow_completed_total/)).toBe(1);
}, 120_000);

it('a worker has the slots and pollers of its settings, apart for each task queue', async () => {
  const { calls, background } = service.config.temporal.taskQueues;
  const capacityOf = (samples: Samples, queue: string) => {
    const of = (metric: string, label: string) =>
      sum(samples, new RegExp(`^${metric}\\{(?=.*task_queue="${queue}")(?=.*"${label}")`));
    return {
      slots: ['WorkflowWorker', 'ActivityWorker', 'LocalActivityWorker'].map((type) =>
        of('temporal_worker_task_slots_available', type),
      ),
      pollers: [
        of('temporal_num_pollers', 'workflow_task') + of('temporal_num_pollers', 'sticky_workflow_task'),
        of('temporal_num_pollers', 'activity_task'),
      ],
    };
  };
  const expected = [
    { slots: [21, 22, 22], pollers: [7, 6] },
    { slots: [11, 12, 12], pollers: [4, 3] },
  ];
  const look = async () => {
    const { samples } = await scrape(ports.SDK);
    return [calls, background].map((queue) => capacityOf(samples, queue));
  };
  // A poller that has just received a task, or a slot in which one still runs, counts again after a moment.
  await eventually(async () => JSON.stringify(await look()) === JSON.stringify(expected), 20_000).catch(
    () => undefined,
  );
  expect(await look()).toEqual(expected);
}, 60_000);

it('the exporter says what is in progress, held, waiting and open', async () => {
  const { samples } = await scrape(ports.exporter);
  const state = samples.filter(([series]) => /^callwright_(calls_in|money|dial)/.test(series));
  expect(state.map(([series]) => series)).toEqual([
    'callwright_calls_in_progress{mode="live"}',
    'callwright_calls_in_progress{mode="test"}',
    'callwright_money_held_micro_usd{mode="live"}',
    'callwright_money_held_micro_usd{mode="test"}',
    'callwright_dial_queue_calls',
    'callwright_dial_queue_longest_wait_seconds',
  ]);
});

it('only the exporter says on this port whether it is ready', async () => {
  const statuses = ROLES.map(async (role) => [
    role,
    (await fetch(`http://127.0.0.1:${ports[role]}/health/ready`)).status,
  ]);
  expect(Object.fromEntries(await Promise.all(statuses))).toEqual({
    api: 404,
    worker: 404,
    media: 404,
    simulator: 404,
    exporter: 200,
  });
});

it('no other path is served', async () => {
  expect((await fetch(`http://127.0.0.1:${ports.api}/calls`)).status).toBe(404);
  expect((await fetch(`http://127.0.0.1:${ports.api}/metrics`, { method: 'POST' })).status).toBe(404);
  // The public port does not even say whether there is such a path.
  expect((await fetch(`http://127.0.0.1:${ports.API}/metrics`)).status).toBe(401);
});
