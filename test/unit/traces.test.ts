import { traceOfCall } from '../../src/kernel/call-trace.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { observe } from '../../src/platform/telemetry/measurements.js';
import {
  activeTraceId,
  beginRequestSpan,
  beginSpan,
  inSpan,
  joinTraceOfCall,
  traceparentOf,
} from '../../src/platform/telemetry/spans.js';
import { createTracing, type Tracing } from '../../src/platform/telemetry/tracing/create-tracing.js';
import { startCollectorStub, type CollectorStub } from '../support/tracing/collector-stub';
import { treeFaults } from '../support/tracing/connected-spans';

const CALL = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
/** A call that a sampler which keeps one trace in a million does not keep. */
const TRACE = traceOfCall(CALL) ?? { traceId: '', rootSpanId: '' };
const CLIENT_TRACE = '0af7651916cd43dd8448eb211c80319c';

const settingsOf = (env: Record<string, string>) => parseConfig({ NODE_ENV: 'test', ...env }).tracing;

let collector: CollectorStub;
let tracing: Tracing | undefined;

async function start(env: Record<string, string> = {}, answer?: () => number): Promise<void> {
  collector = await startCollectorStub(answer === undefined ? {} : { answer });
  const settings = settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20', ...env });
  if (settings === undefined) throw new Error('not configured');
  tracing = createTracing({ settings, role: 'api', logger: createLogger({ role: 'api', level: 'silent' }) });
}

async function close(): Promise<void> {
  await tracing?.close();
  tracing = undefined;
}

afterEach(async () => {
  await close();
  collector?.close();
});

/** Runs a request of a client that places, or asks for, a call. */
async function runRequest(traceparent: string, joins?: { begins: boolean }): Promise<void> {
  const span = beginRequestSpan({ startedAt: Date.now() - 100, traceparent });
  await span?.run(async () => {
    if (joins !== undefined) joinTraceOfCall(CALL, joins);
    // A repeat changes nothing.
    if (joins !== undefined) joinTraceOfCall(CALL, joins);
    await inSpan('carrier dial', { kind: 'client', facts: { carrier: 'simulator' } }, () => Promise.resolve());
  });
  span?.rename('POST /outbound_call');
  span?.add({ status: 200 });
  span?.end();
}

describe('the trace of a call', () => {
  it('has the bits of the call id', () => {
    expect(traceOfCall('call_00000000000000000000000001')).toEqual({
      traceId: '0'.repeat(31) + '1',
      rootSpanId: '0'.repeat(15) + '1',
    });
    expect(traceOfCall('call_7ZZZZZZZZZZZZZZZZZZZZZZZZZ')?.traceId).toBe('f'.repeat(32));
    for (const none of ['agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', 'reconcile-1', '', `call_${'0'.repeat(26)}`]) {
      expect(traceOfCall(none)).toBeUndefined();
    }
  });

  it('has a first span also if the request was answered before the call was stored', async () => {
    await start();
    const span = beginRequestSpan({ startedAt: Date.now() - 100, traceparent: '' });
    await span?.run(async () => {
      span.rename('POST /outbound_call');
      span.end({ failed: true });
      joinTraceOfCall(CALL, { begins: true });
      joinTraceOfCall(CALL, { begins: false });
      await inSpan('start of the workflow', { callId: CALL }, () => Promise.resolve());
    });
    await runRequest('', { begins: false });
    await close();
    const spans = collector.ofTrace(TRACE.traceId);
    expect(treeFaults(spans)).toEqual([]);
    expect(spans.map(({ name }) => name)).toContain('start of the workflow');
    const [first] = spans.filter(({ parentId }) => parentId === '');
    const request = collector.spans.find(({ traceId }) => traceId !== TRACE.traceId);
    expect(first).toMatchObject({ name: 'late request', spanId: TRACE.rootSpanId, links: [request?.traceId] });
  });

  it('begins with the request that places the call, and others join it', async () => {
    await start();
    await runRequest('', { begins: true });
    await runRequest('', { begins: false });
    await inSpan('media stream', { callId: CALL }, () => Promise.resolve());
    await close();
    const spans = collector.ofTrace(TRACE.traceId);
    expect(collector.spans).toHaveLength(spans.length);
    const requests = spans.filter(({ name }) => name === 'POST /outbound_call');
    expect(requests.map(({ parentId }) => parentId)).toEqual(['', TRACE.rootSpanId]);
    expect(requests[0]?.spanId).toBe(TRACE.rootSpanId);
    const dials = spans.filter(({ name }) => name === 'carrier dial');
    expect(dials.map(({ parentId }) => parentId)).toEqual(requests.map(({ spanId }) => spanId));
    expect(spans.find(({ name }) => name === 'media stream')?.parentId).toBe(TRACE.rootSpanId);
    // The request began before it was known to place a call.
    expect((requests[0]?.endMs ?? 0) - (requests[0]?.startMs ?? 0)).toBeGreaterThan(90);
  });

  it('is kept or dropped by every process alike', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.000001' });
    await runRequest('', { begins: true });
    await inSpan('media stream', { callId: CALL }, async () => {
      expect(traceparentOf()).toMatch(new RegExp(`^00-${TRACE.traceId}-[0-9a-f]{16}-00$`));
    });
    await close();
    expect(collector.spans).toEqual([]);
  });
});

it('a client decides neither the trace nor whether it is kept', async () => {
  await start();
  await runRequest(`00-${CLIENT_TRACE}-b7ad6b7169203331-01`, { begins: true });
  await runRequest('00-ffffffffffffffffffffffffffffffff-0000000000000000-01');
  await runRequest(`00-${CLIENT_TRACE}-b7ad6b7169203331-00`);
  await close();
  expect(collector.spans.map(({ traceId }) => traceId)).not.toContain(CLIENT_TRACE);
  const requests = collector.spans.filter(({ name }) => name === 'POST /outbound_call');
  expect(requests.map(({ links }) => links)).toEqual([[CLIENT_TRACE], [], [CLIENT_TRACE]]);
  collector.close();

  await start({ OTEL_TRACES_SAMPLER: 'always_off' });
  await runRequest(`00-${CLIENT_TRACE}-b7ad6b7169203331-01`);
  await close();
  expect(collector.spans).toEqual([]);
});

it('errors of work are marked, without their text', async () => {
  await start();
  const failing = inSpan('carrier dial', {}, () => Promise.reject(new Error('The number +12025550123 is not valid')));
  await expect(failing).rejects.toThrow('not valid');
  await close();
  expect(collector.spans).toMatchObject([{ name: 'carrier dial', failed: true }]);
  expect(collector.text()).not.toContain('2025550123');
});

it('log lines name the trace of their work, but do not decide that of a request', async () => {
  await start();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const logger = createLogger({ role: 'api', level: 'info', destination });
  logger.info('outside');
  beginRequestSpan({ startedAt: Date.now(), traceparent: '' })?.run(() => {
    logger.info('before');
    joinTraceOfCall(CALL);
    logger.info('after');
  });
  expect(lines.map(({ traceId }) => traceId)).toEqual([undefined, undefined, TRACE.traceId]);
});

it('costs nothing and answers nothing without a collector', async () => {
  expect(settingsOf({})).toBeUndefined();
  expect(
    settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' }),
  ).toBeUndefined();
  expect(beginSpan('turn')).toBeUndefined();
  expect([activeTraceId(), traceparentOf(CALL)]).toEqual([undefined, undefined]);
  expect(await inSpan('turn', {}, (span) => Promise.resolve(span))).toBeUndefined();
});

it('a base address gets the path of traces, and a whole address is used as it is', () => {
  const base = 'https://collector.example.com/otlp/';
  expect(settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: base })?.url).toBe(`${base}v1/traces`);
  const whole = { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t.example.com/x' };
  expect(settingsOf(whole)?.url).toBe('https://t.example.com/x');
  expect(() => settingsOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow('must be http/protobuf');
  expect(() => settingsOf({ OTEL_EXPORTER_OTLP_HEADERS: 'no header' })).toThrow('OTEL_EXPORTER_OTLP_HEADERS');
});

describe('a collector that takes nothing', () => {
  const counts = { not_sent: 0, queue_full: 0 };
  let forget: () => void;
  beforeEach(() => {
    counts.not_sent = counts.queue_full = 0;
    forget = observe('spansDropped', ({ cause, count }) => void (counts[cause] += count));
  });
  afterEach(() => forget());

  it('is asked three times, and its spans are counted', async () => {
    let requests = 0;
    await start({}, () => {
      requests += 1;
      return 503;
    });
    await inSpan('turn', {}, () => Promise.resolve());
    const deadline = Date.now() + 20_000;
    while (counts.not_sent === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    expect([counts.not_sent, requests]).toEqual([1, 3]);
  }, 30_000);

  it('costs a bounded number of spans in memory, and does not delay the work', async () => {
    await start({ OTEL_BSP_SCHEDULE_DELAY: '60000' }, () => 503);
    for (let n = 0; n < 20_000; n += 1) beginSpan('turn')?.end();
    // A full batch may be on its way.
    expect(counts.queue_full).toBeGreaterThanOrEqual(20_000 - 4_096 - 512);
    expect(counts.queue_full).toBeLessThan(20_000);
    const before = Date.now();
    await close();
    expect(Date.now() - before).toBeLessThan(10_000);
  });
});

describe('the settings of traces', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';

  it.each([
    ['OTEL_RESOURCE_ATTRIBUTES', 'owner=100%'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'owner'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%0Ax'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=%FF'],
  ])('reject %s=%s by name', (variable, value) => {
    expect(() => parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT, [variable]: value })).toThrow(
      new RegExp(`${variable}: must be like name=value`),
    );
  });

  it('accept encoded values', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x,a=b' };
    expect(parseConfig(env).tracing).toMatchObject({ headers: 'authorization=Bearer%20x,a=b' });
  });
});
