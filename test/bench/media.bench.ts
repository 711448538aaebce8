import { randomUUID } from 'node:crypto';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { parseConfig } from '../../src/platform/config/config.js';
import { createIndexes } from '../../src/platform/mongo/connection.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createTestCalls } from '../integration/voice/support/test-calls.js';
import { percentile, report } from './figures.js';
import type { CarrierFigures, CarrierOrder } from './media/carriers-process.js';
import { keepToCores, startMeasured, type MeasuredProcess } from './media/measured-process.js';
import type { ProcessFigures } from './media/process-figures.js';

const CALLS = 200;
const WARM_UP_MS = 5_000;
const MEASURED_MS = 15_000;
const STREAM_URL = 'wss://media.example.com/stream';
/** The maximum lateness of a frame at the 99th percentile. */
const LATENESS_MS = 5;
/** The maximum CPU time per frame, as a multiple of the echo server's CPU time. */
const RATIO = 4;
/** The limit includes the recording: a call keeps up to eight seconds of audio before it stores them as one chunk. */
const MEMORY_PER_CALL_KB = 2_048;
/** The processes of MongoDB and Temporal, which other benchmarks use too. */
const SERVERS = (process.env['TEST_SERVER_PIDS'] ?? '').split(',').filter(Boolean);

let database: Database;
let connection: Connection;
let calls: ReturnType<typeof createTestCalls>;
let env: NodeJS.ProcessEnv;
const started: MeasuredProcess[] = [];

beforeAll(async () => {
  // The scheduler may let the database keep a core for some ms, which would delay frames.
  keepToCores('1', SERVERS);
  env = {
    NODE_ENV: 'test',
    STREAM_URL,
    MEDIA_PORT: '0',
    MONGODB_URI: `${process.env['TEST_MONGODB_URI']}/media_bench_${randomUUID()}`,
    TEMPORAL_ADDRESS: process.env['TEST_TEMPORAL_ADDRESS'],
  };
  database = await openDatabase(String(env['MONGODB_URI']));
  await createIndexes(database);
  connection = await Connection.connect({ address: String(env['TEMPORAL_ADDRESS']) });
  calls = createTestCalls({ database, client: new Client({ connection }) });
});
afterAll(async () => {
  await Promise.all(started.map((measured) => measured.stop()));
  await calls.endAll();
  keepToCores(`0-${cpus().length - 1}`, SERVERS);
  await connection.close();
  await database.connection.dropDatabase();
  await database.close();
});

async function placeAll(): Promise<CarrierOrder['calls']> {
  const placed: CarrierOrder['calls'] = [];
  while (placed.length < CALLS) placed.push(...(await Promise.all(Array.from({ length: 20 }, () => calls.place()))));
  return placed;
}

interface Measurement {
  server: ProcessFigures;
  carriers: CarrierFigures;
  bytesPerCall: number;
}

/** Connects all calls to a server and measures the server for a while. */
async function measure(server: MeasuredProcess, port: number, placed: CarrierOrder['calls']): Promise<Measurement> {
  const { process: carriers } = await start('carriers-process.ts', { core: 1 });
  try {
    const idle = await server.ask<ProcessFigures>('figures');
    const { authToken } = parseConfig(env).carriers.live;
    const order: CarrierOrder = { port, calls: placed, authToken, streamUrl: STREAM_URL };
    await carriers.ask(order);
    await sleep(WARM_UP_MS);
    await server.ask('from now on');
    await carriers.ask('from now on');
    await sleep(MEASURED_MS);
    const [busy, seen] = await Promise.all([
      server.ask<ProcessFigures>('figures'),
      carriers.ask<CarrierFigures>('figures'),
    ]);
    return { server: busy, carriers: seen, bytesPerCall: (busy.rssBytes - idle.rssBytes) / CALLS };
  } finally {
    await carriers.stop();
  }
}

/** Starts a program of the benchmark; its first message reports that it is ready. */
async function start<T>(...how: Parameters<typeof startMeasured>): Promise<{ process: MeasuredProcess; first: T }> {
  const measured = await startMeasured<T>(...how);
  started.push(measured.process);
  return measured;
}

it(`a media process on one core carries ${CALLS} calls with frames at most ${LATENESS_MS} ms late at p99`, async () => {
  const echo = await start<{ port: number }>('echo-process.ts', { core: 0 });
  const bare = await measure(echo.process, echo.first.port, await placeAll());
  await echo.process.stop();

  const media = await start<{ port: number }>('media-process.ts', { core: 0, env });
  const ours = await measure(media.process, media.first.port, await placeAll());
  await media.process.stop();

  const perFrame = ({ server, carriers }: Measurement) => (server.cpuMs * 1_000) / carriers.framesReceived;
  const late = (percent: number, { carriers }: Measurement) => percentile(carriers.latenessMs, percent);
  report(`${CALLS} calls on one media process, null engine`, {
    'frames/s in': (ours.carriers.framesSent * 1_000) / ours.server.elapsedMs,
    'frames/s out': (ours.carriers.framesReceived * 1_000) / ours.server.elapsedMs,
    'core used %': (ours.server.cpuMs / ours.server.elapsedMs) * 100,
    'bare echo: core used %': (bare.server.cpuMs / bare.server.elapsedMs) * 100,
    'µs of core a frame, both ways': perFrame(ours),
    'bare echo: µs of core a frame': perFrame(bare),
    'ratio to the bare echo': perFrame(ours) / perFrame(bare),
    'lateness p50 ms': late(50, ours),
    [`lateness p99 ms (limit ${LATENESS_MS})`]: late(99, ours),
    'lateness max ms': late(100, ours),
    'event loop late p99 ms': ours.server.loopLateMs,
    'longest garbage collection ms': ours.server.longestGcMs,
    'core taken away, times': ours.server.preempted,
    'bare echo: core taken away, times': bare.server.preempted,
    'bare echo: lateness p99 ms': late(99, bare),
    'caller to engine p50 ms': percentile(ours.server.heardMs, 50),
    'caller to engine p99 ms': percentile(ours.server.heardMs, 99),
    'memory per call kB': ours.bytesPerCall / 1_024,
    'bare echo: memory per call kB': bare.bytesPerCall / 1_024,
  });

  expect(ours.carriers.lost).toBe(0);
  expect(perFrame(ours) / perFrame(bare)).toBeLessThanOrEqual(RATIO);
  expect(ours.bytesPerCall / 1_024).toBeLessThanOrEqual(MEMORY_PER_CALL_KB);
  // If other work delays even the echo server, the lateness of the media server proves nothing.
  if (late(99, bare) <= LATENESS_MS) expect(late(99, ours)).toBeLessThanOrEqual(LATENESS_MS);
  else process.stderr.write('bench: the machine is busy, so lateness is not judged\n');
}, 300_000);
