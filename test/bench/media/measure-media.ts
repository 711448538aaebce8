import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { openDatabase } from '../../../src/database.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { createTestCalls } from '../../integration/voice/support/test-calls.js';
import type { CarrierFigures, CarrierOrder } from './carriers-process.js';
import { keepToCores, startMeasured, type MeasuredProcess } from './measured-process.js';
import type { ProcessFigures } from './process-figures.js';

const WARM_UP_MS = 5_000;
const MEASURED_MS = 15_000;
const STREAM_URL = 'wss://media.example.com/stream';
const PLACED_AT_ONCE = 20;

export interface MediaMeasurement {
  server: ProcessFigures;
  carriers: CarrierFigures;
  bytesPerCall: number;
}

/** CPU time of the server per frame that it sent, µs. */
export function microsecondsPerFrame({ server, carriers }: MediaMeasurement): number {
  return (server.cpuMs * 1_000) / carriers.framesReceived;
}

/**
 * Prepares measurements of media servers with open calls.
 * @param p.serverPids processes of MongoDB and Temporal, which share no core with the measured server
 */
export async function createMediaBench(p: {
  calls: number;
  mongodbUri: string;
  temporalAddress: string;
  serverPids: readonly string[];
}) {
  // The scheduler may let the database keep a core for some ms, which would delay frames.
  keepToCores('1', p.serverPids);
  const env = {
    NODE_ENV: 'test',
    STREAM_URL,
    MEDIA_PORT: '0',
    MONGODB_URI: p.mongodbUri,
    TEMPORAL_ADDRESS: p.temporalAddress,
  };
  const database = await openDatabase(env.MONGODB_URI);
  await createIndexes(database);
  const connection = await Connection.connect({ address: p.temporalAddress });
  const calls = createTestCalls({ database, client: new Client({ connection }) });
  const started: MeasuredProcess[] = [];

  /** Starts a program of the benchmark; its first message reports that it is ready. */
  async function start<T>(...how: Parameters<typeof startMeasured>) {
    const measured = await startMeasured<T>(...how);
    started.push(measured.process);
    return measured;
  }

  async function placeAll(): Promise<CarrierOrder['calls']> {
    const placed: CarrierOrder['calls'] = [];
    while (placed.length < p.calls) {
      placed.push(...(await Promise.all(Array.from({ length: PLACED_AT_ONCE }, () => calls.place()))));
    }
    return placed;
  }

  /** Starts a server, connects all calls to it and measures it for a while. */
  async function measure(program: string, own: Record<string, string> = {}): Promise<MediaMeasurement> {
    const placed = await placeAll();
    const { process: server, first } = await start<{ port: number }>(program, { core: 0, env: { ...env, ...own } });
    const { process: carriers } = await start('carriers-process.ts', { core: 1 });
    try {
      const idle = await server.ask<ProcessFigures>('figures');
      const { authToken } = parseConfig(env).carriers.live;
      await carriers.ask({ port: first.port, calls: placed, authToken, streamUrl: STREAM_URL } satisfies CarrierOrder);
      await sleep(WARM_UP_MS);
      await server.ask('from now on');
      await carriers.ask('from now on');
      await sleep(MEASURED_MS);
      const [busy, seen] = await Promise.all([
        server.ask<ProcessFigures>('figures'),
        carriers.ask<CarrierFigures>('figures'),
      ]);
      return { server: busy, carriers: seen, bytesPerCall: (busy.rssBytes - idle.rssBytes) / p.calls };
    } finally {
      await carriers.stop();
      await server.stop();
    }
  }

  return {
    measureEcho: () => measure('echo-process.ts'),
    /** @param own further variables of the process */
    measureMedia: (own?: Record<string, string>) => measure('media-process.ts', own),
    async close(): Promise<void> {
      await Promise.all(started.map((measured) => measured.stop()));
      await calls.endAll();
      keepToCores(`0-${cpus().length - 1}`, p.serverPids);
      await connection.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}
