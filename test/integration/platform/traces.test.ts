import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { traceOfCall } from '../../../src/kernel/call-trace.js';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { freePort, startRole } from '../../support/role-process';
import { startCollectorStub, type CollectorStub, type ReceivedSpan } from '../../support/tracing/collector-stub';
import { callIdOf, spansWithoutParent, treeFaults } from '../../support/tracing/connected-spans';

jest.setTimeout(500_000);

/** The trace of a client that tells us to keep its spans. */
const CLIENT_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = `00-${CLIENT_TRACE}-b7ad6b7169203331-01`;
const CALLEE = '+12025550100';
/** A request id that contains a phone number, as a client may choose one. */
const CLIENT_REQUEST_ID = 'job-12025550177';
const INSTRUCTION = 'Remind the caller of the appointment.';

let service: Service;
let customer: Customer;
let collector: CollectorStub;
let receiver: Server;
let webhooks: { headers: IncomingHttpHeaders; body: string }[];
let env: Record<string, string>;
let ports: { api: number; simulator: number; media: [number, number] };
/** Functions that end the running processes. */
const kills = new Map<string, () => Promise<void>>();

async function start(...[role, roleEnv]: Parameters<typeof startRole>) {
  const started = await startRole(role, roleEnv);
  const name = `${role} ${started.pid}`;
  const forgetting = (end: () => Promise<unknown>) => async () => {
    kills.delete(name);
    await end();
  };
  const kill = forgetting(() => started.kill());
  kills.set(name, kill);
  return { kill, stop: forgetting(() => started.stop()) };
}

const killAll = (which: RegExp) =>
  Promise.all(Array.from(kills).flatMap(([name, kill]) => (which.test(name) ? [kill()] : [])));

/** Passes connections on to a port that may change, as a load balancer does. */
async function startForwarder(target: () => number): Promise<{ port: number; close(): void }> {
  const server = createTcpServer((incoming) => {
    const outgoing = connect(target(), '127.0.0.1');
    incoming.pipe(outgoing).pipe(incoming);
    incoming.on('error', () => outgoing.destroy());
    outgoing.on('error', () => incoming.destroy());
    outgoing.on('close', () => incoming.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

let mediaTarget: number;
let forwarder: Awaited<ReturnType<typeof startForwarder>>;

beforeAll(async () => {
  service = await startService({ worker: false });
  collector = await startCollectorStub();
  webhooks = [];
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      webhooks.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  ports = { api: await freePort(), simulator: await freePort(), media: [await freePort(), await freePort()] };
  [mediaTarget] = ports.media;
  forwarder = await startForwarder(() => mediaTarget);
  env = {
    NODE_ENV: 'test',
    MONGODB_URI: service.config.mongodbUri,
    TEMPORAL_ADDRESS: service.config.temporal.address,
    TEMPORAL_TASK_QUEUE: service.config.temporal.taskQueues.calls,
    API_PORT: String(ports.api),
    PUBLIC_BASE_URL: `http://127.0.0.1:${ports.api}`,
    STREAM_URL: `ws://127.0.0.1:${forwarder.port}/stream`,
    SIMULATOR_PORT: String(ports.simulator),
    SIMULATOR_URL: `http://127.0.0.1:${ports.simulator}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=s%20ecret',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  await Promise.all([start('api', env), start('simulator', env)]);
  customer = await service.customer();
  await service.phoneNumbers.add({
    number: '+12025550199',
    accountId: customer.account._id,
    agentId: customer.agent._id,
  });
}, 120_000);

// The API and the simulated carrier serve all tests.
afterEach(() => killAll(/^(worker|media)/));

afterAll(async () => {
  await killAll(/./);
  collector.close();
  forwarder.close();
  receiver.closeAllConnections();
  receiver.close();
  await service.close();
});

const webhookUrl = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook?secret=s3cret`;

async function placeCall(): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${ports.api}/outbound_call`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${customer.liveKey}`,
      'X-Request-Id': CLIENT_REQUEST_ID,
      traceparent: CLIENT_SPAN,
    },
    body: JSON.stringify({ to_phone_number: CALLEE, agent_id: customer.agent._id, webhook_url: webhookUrl() }),
  });
  // A process that has just started may be too slow to accept it.
  if (response.status === 503) return undefined;
  expect(response.status).toBe(200);
  return ((await response.json()) as { call_id: string }).call_id;
}

const webhookOf = (callId: string) => webhooks.find(({ body }) => body.includes(callId));

const named = (spans: readonly ReceivedSpan[], name: string | RegExp) =>
  spans.filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));

/** Waits until the workflow's span has arrived, which is one of the last. Returns all spans of the call's trace. */
async function traceOf(callId: string): Promise<ReceivedSpan[]> {
  const traceId = traceOfCall(callId)?.traceId ?? '';
  await eventually(async () => named(collector.ofTrace(traceId), 'RunWorkflow:CallWorkflow').length > 0, 90_000);
  await eventually(async () => treeFaults(collector.ofTrace(traceId)).length === 0, 5_000).catch(() => undefined);
  return collector.ofTrace(traceId);
}

function expectOneConnectedTrace(callId: string, spans: readonly ReceivedSpan[]): void {
  expect(treeFaults(spans)).toEqual([]);
  // No span of the call is in another trace.
  const strays = collector.spans.filter((span) => span.traceId !== spans[0]?.traceId && callIdOf(span) === callId);
  expect(strays.map(({ name }) => name)).toEqual([]);
}

const streamsOf = (spans: readonly ReceivedSpan[]) =>
  named(spans, 'media stream').map(({ attributes }) => attributes['callwright.stream']);

/** Makes a call whose worker and media process die. Undefined if it ended before: on a slow machine others take long to start. */
async function callThroughDeaths() {
  [mediaTarget] = ports.media;
  const [worker, media] = await Promise.all([
    start('worker', env),
    start('media', { ...env, MEDIA_PORT: String(ports.media[0]) }),
    start('media', { ...env, MEDIA_PORT: String(ports.media[1]) }),
  ]);
  const callId = await eventually(placeCall);
  // The first worker has begun the workflow. The second one starts while the phone rings.
  const successor = start('worker', env);
  const traceId = traceOfCall(callId)?.traceId ?? '';
  const turnsOf = () => named(collector.ofTrace(traceId), 'turn');
  await eventually(async () => turnsOf().length > 0, 60_000);
  // Activities of a worker that dies are lost with it, so wait until it has none.
  await eventually(async () => named(collector.ofTrace(traceId), 'temporal media').length > 0, 30_000);
  await successor;
  // A killed process loses spans that it has not sent. Of those that are needed, only the workflow's may be open.
  await eventually(async () => {
    const missing = spansWithoutParent(collector.ofTrace(traceId)).map(({ parentId }) => parentId);
    return new Set(missing).size <= 1;
  });
  await worker.kill();
  [, mediaTarget] = ports.media;
  await media.kill();
  const turnsBefore = turnsOf().length;
  await eventually(async () => webhookOf(callId) !== undefined, 180_000);
  const spans = await traceOf(callId);
  if (streamsOf(spans).length === 2) return { callId, traceId, spans, turnsBefore, turns: turnsOf().length };
  await killAll(/^(worker|media)/);
  return undefined;
}

it('a call is one connected trace, although a worker and a media process die', async () => {
  const { callId, traceId, spans, turnsBefore, turns } = await eventually(callThroughDeaths, 300_000);
  expectOneConnectedTrace(callId, spans);
  expect(collector.faults).toEqual([]);

  const [first] = spans.filter(({ parentId }) => parentId === '');
  expect(first).toMatchObject({
    name: 'POST /outbound_call',
    links: [CLIENT_TRACE],
    resource: { 'callwright.role': 'api' },
  });
  for (const name of [
    /^RunActivity:/,
    /^StartActivity:/,
    'carrier dial',
    'POST /carrier/calls/{call_id}/twiml',
    /^POST \/carrier\/calls\/\{call_id\}\/status/,
    /^HandleSignal:/,
    'turn',
    'stage recogniser',
    'stage voice',
    'webhook attempt',
  ]) {
    expect([name, named(spans, name).length > 0]).toEqual([name, true]);
  }
  expect(new Set(spans.map(({ resource }) => resource['callwright.role']))).toEqual(
    new Set(['api', 'worker', 'media']),
  );
  // Both media processes joined the trace, and the second one's turns are there as well.
  expect(streamsOf(spans)).toEqual(['0', '1']);
  expect(turns).toBeGreaterThan(turnsBefore);
  expect(named(spans, 'conversation')).toHaveLength(1);
  expect(named(spans, 'RunWorkflow:CallWorkflow')).toHaveLength(1);

  const [attempt] = named(spans, 'webhook attempt');
  expect(webhookOf(callId)?.headers['traceparent']).toBe(`00-${traceId}-${attempt?.spanId}-01`);
});

/** Brings a call to the service. A process that has just started may be too slow for it, and then rejects it. */
async function bringCall(): Promise<{ _id: string } | undefined> {
  const response = await fetch(`http://127.0.0.1:${ports.simulator}/simulator/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550199', from: '+12025550111', forwarded_from: '+12025550199' }),
  });
  const { sid } = (await response.json()) as { sid: string };
  for (;;) {
    const call = await service.database.calls.findOne({ carrierSid: sid }).lean();
    if (call !== null) return call;
    const record = await fetch(`http://127.0.0.1:${ports.simulator}/simulator/calls/${sid}`);
    if (((await record.json()) as { status: string }).status === 'busy') return undefined;
    await sleep(100);
  }
}

it('an inbound call is one connected trace, which begins with the request of the carrier', async () => {
  [mediaTarget] = ports.media;
  await Promise.all([start('worker', env), start('media', { ...env, MEDIA_PORT: String(ports.media[0]) })]);
  await service.database.agents.updateOne({ _id: customer.agent._id }, { $set: { webhookUrl: webhookUrl() } });
  const call = await eventually(bringCall, 120_000);
  await eventually(async () => webhookOf(call._id) !== undefined, 120_000);
  const spans = await traceOf(call._id);
  expectOneConnectedTrace(call._id, spans);
  expect(spans.find(({ parentId }) => parentId === '')?.name).toBe('POST /inbound_call');
  expect(named(spans, 'media stream')).toHaveLength(1);
  expect(named(spans, 'conversation')).toHaveLength(1);
});

it('nothing personal and no secret reaches the collector', () => {
  expect(collector.spans.length).toBeGreaterThan(50);
  const text = collector.text();
  const secrets = ['2025550', '12025550177', customer.liveKey, 's3cret', INSTRUCTION, customer.account._id];
  for (const secret of secrets) expect([secret, text.includes(secret)]).toEqual([secret, false]);
  // Identifiers of the carrier.
  expect(text).not.toMatch(/(CA|AC|MZ)[0-9a-f]{32}/);
  expect(collector.headers[0]?.['x-collector-key']).toBe('s ecret');
  // A request that belongs to no call has its own trace, with the id by which support finds it.
  const ids = collector.spans.flatMap(({ attributes }) => attributes['callwright.request_id'] ?? []);
  expect(ids.every((id) => /^req_[0-9A-Z]{26}$/.test(id))).toBe(true);
});

it('without a collector no role loads OpenTelemetry', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'modules-'));
  const lister = path.join(__dirname, '../../support/tracing/list-modules.cjs');
  const { OTEL_EXPORTER_OTLP_ENDPOINT: _, ...untraced } = env;
  const loaded = async (role: 'api' | 'media' | 'worker', roleEnv: Record<string, string>) => {
    const file = path.join(folder, `${role}.json`);
    const process = await start(role, { ...roleEnv, NODE_OPTIONS: `--require ${lister}`, MODULES_FILE: file });
    await process.stop();
    const modules = JSON.parse(await readFile(file, 'utf8')) as string[];
    return modules.filter((module) => module.includes('opentelemetry'));
  };
  const free = { ...untraced, API_PORT: String(await freePort()), MEDIA_PORT: String(await freePort()) };
  for (const role of ['api', 'media', 'worker'] as const) expect(await loaded(role, free)).toEqual([]);
  expect((await loaded('worker', env)).length).toBeGreaterThan(0);
  await rm(folder, { recursive: true });
});
