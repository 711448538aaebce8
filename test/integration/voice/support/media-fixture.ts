import { createCallResults } from '../../../../src/calls/wiring.js';
import { createCallMediaServer } from '../../../../src/calls/media.js';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { createCallGateway } from '../../../../src/calls/gateway.js';
import { parseConfig } from '../../../../src/platform/config/config.js';
import type { MediaServer, MediaServerDeps } from '../../../../src/voice/media/media-server.js';
import type { OfflineTimings } from '../../../../src/voice/engines/offline/session.js';
import type { EngineFactory } from '../../../../src/voice/engines/port.js';
import { createEngines } from '../../../../src/voice/engines/engines.js';
import { createOfflineEngine } from '../../../../src/voice/engines/offline/index.js';
import type { MediaSignal } from '../../../../src/kernel/call-signals.js';
import { createCarrierBindings } from '../../../../src/telephony/carrier-bindings.js';
import { createIndexes } from '../../../../src/platform/mongo/indexes.js';
import { openDatabase } from '../../../../src/database.js';
import { createRecordings } from '../../../../src/voice/recordings/recordings.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { dialIn, openLine } from './carrier-line';
import type { LineOptions } from './carrier-line';
import { createTestCalls, type TestCall } from './test-calls';
import { newSid } from '../../../support/sids.js';

export const STREAM_URL = 'wss://media.example.com/stream';
export type { TestCall };

export type MediaFixture = Awaited<ReturnType<typeof openMediaFixture>>;

/**
 * A media server with a real database and Temporal server, and calls whose workflows receive the media server's
 * signals.
 */
export async function openMediaFixture(
  options: Pick<MediaServerDeps, 'timings' | 'limits'> & {
    dialogue?: Partial<OfflineTimings>;
    /** Conducts the sessions of live calls in place of the offline engine. Closed together with the server. */
    engine?: EngineFactory;
    /** Additional settings. */
    env?: NodeJS.ProcessEnv;
    mongodbUri?: string;
    temporalAddress?: string;
  } = {},
) {
  const config = parseConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
    STREAM_URL,
    MEDIA_PORT: '0',
    MONGODB_URI: `${options.mongodbUri ?? process.env['TEST_MONGODB_URI']}/media_${randomUUID()}`,
    TEMPORAL_ADDRESS: options.temporalAddress ?? process.env['TEST_TEMPORAL_ADDRESS'],
    ...options.env,
  });
  const database = await openDatabase(config.mongodbUri);
  await createIndexes(database);
  const gateway = await createCallGateway({ config });
  const connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
  const client = new Client({ connection });
  const engine = createOfflineEngine(options.dialogue ? { timing: options.dialogue } : {});
  const engines = createEngines({ defaultEngine: options.engine ?? engine, testEngine: engine });
  const logger = createLogger({ role: 'media', level: config.logLevel });
  const { timings, limits } = options;
  const deps = {
    config,
    database,
    gateway,
    engines,
    logger,
    ...(timings ? { timings } : {}),
    ...(limits ? { limits } : {}),
  };
  const server = createCallMediaServer(deps);
  const { port } = await server.listen();
  const others: MediaServer[] = [];
  const results = createCallResults(database);
  const recordings = createRecordings(database);
  const bindings = createCarrierBindings(database);
  const calls = createTestCalls({ database, client, carrierKind: config.carriers.live.kind });

  function lineOptions(call: TestCall, changes: Partial<LineOptions> = {}): LineOptions {
    const { authToken } = config.carriers.live;
    return { port, callId: call.callId, carrierSid: call.carrierSid, authToken, streamUrl: STREAM_URL, ...changes };
  }

  return {
    database,
    server,
    port,
    results,
    recordings,
    placeCall: calls.place,
    lineOptions,
    dialIn: (call: TestCall, changes: Partial<LineOptions> = {}) => dialIn(lineOptions(call, changes)),
    openLine: async (call: TestCall) => openLine(await dialIn(lineOptions(call)), call.carrierSid, call.streamSid),

    /** Stores that the workflow granted the call a stream with this number. */
    grant: (call: TestCall, resumption: number) => bindings.grantStream(call.callId, call.carrierSid, resumption),

    /** Opens a later stream of a call, as the carrier does after the workflow has granted the stream. */
    async resumeLine(call: TestCall, resumption: number, changes: Partial<LineOptions> = {}) {
      await bindings.grantStream(call.callId, call.carrierSid, resumption);
      const streamSid = newSid('MZ');
      return openLine(await dialIn(lineOptions(call, changes)), call.carrierSid, streamSid, resumption);
    },

    /**
     * Starts a second media server on the same database and Temporal server, like another process, but in this
     * process's memory.
     */
    async startAnother(): Promise<{ port: number }> {
      const another = createCallMediaServer(deps);
      others.push(another);
      return another.listen();
    },

    /** The media signals in the call's history, in order. */
    async signals(callId: string): Promise<MediaSignal[]> {
      const { events } = await client.workflow.getHandle(callId).fetchHistory();
      return (events ?? []).flatMap((event) => {
        const signal = event.workflowExecutionSignaledEventAttributes;
        const data = signal?.input?.payloads?.[0]?.data;
        return signal?.signalName === 'media' && data ? [JSON.parse(Buffer.from(data).toString()) as MediaSignal] : [];
      });
    },

    endWorkflow: calls.end,

    async close(): Promise<void> {
      await server.close();
      await Promise.all(others.map((other) => other.close()));
      await calls.endAll();
      await gateway.close();
      await connection.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

/** Waits until the check returns true, for at most `ms`. */
export async function eventually(check: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const until = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() > until) throw new Error(`not true within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
