import { randomBytes, randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { createCallGateway } from '../../../src/calls/gateway.js';
import { parseConfig } from '../../../src/config.js';
import { createMediaServer } from '../../../src/conversation/media-server.js';
import type { MediaServerDeps } from '../../../src/conversation/media-server.js';
import type { DialogueTiming } from '../../../src/conversation/engines/offline/dialogue.js';
import { createEngines } from '../../../src/conversation/engines.js';
import { createOfflineEngine } from '../../../src/conversation/engines/offline/index.js';
import { encodeCrockford } from '../../../src/domain/ids.js';
import type { MediaSignal } from '../../../src/domain/signals.js';
import { createCallRequests } from '../../../src/store/call-requests.js';
import { createCarrierBindings } from '../../../src/store/carrier-bindings.js';
import { createConversationResults } from '../../../src/store/conversation-results.js';
import { createIndexes, openDatabase } from '../../../src/store/database.js';
import { createRecordings } from '../../../src/store/recordings.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { dialIn, openLine } from './carrier-line';
import type { LineOptions } from './carrier-line';

export const STREAM_URL = 'wss://media.example.com/stream';
/** No worker listens here: workflows stay open and collect the signals they get. */
const TASK_QUEUE = `media-${randomUUID()}`;

export interface TestCall {
  callId: string;
  carrierSid: string;
  streamSid: string;
}

export type MediaFixture = Awaited<ReturnType<typeof openMediaFixture>>;

/** A media server on real servers, with calls whose workflows really get its signals. */
export async function openMediaFixture(
  options: Pick<MediaServerDeps, 'timings'> & {
    dialogue?: Partial<DialogueTiming>;
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
  });
  const database = await openDatabase(config.mongodbUri);
  await createIndexes(database);
  const gateway = await createCallGateway({ config });
  const connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
  const client = new Client({ connection });
  const engine = createOfflineEngine(options.dialogue ? { timing: options.dialogue } : {});
  const engines = createEngines({ byDefault: engine, forTests: engine });
  const logger = createLogger({ role: 'media', level: config.logLevel });
  const { timings } = options;
  const server = createMediaServer({ config, database, gateway, engines, logger, ...(timings ? { timings } : {}) });
  const { port } = await server.listen();
  const results = createConversationResults(database);
  const recordings = createRecordings(database);
  const running = new Set<string>();

  /** A call that was dialed and bound, with its workflow running. */
  async function placeCall(agent: { outputParameters?: string } = {}): Promise<TestCall> {
    const callId = `call_${encodeCrockford(randomBytes(16))}`;
    const carrierSid = `CA${randomBytes(16).toString('hex')}`;
    await createCallRequests(database).insert({
      _id: callId,
      accountId: 'acct_1',
      mode: 'live',
      direction: 'outbound',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: '+12025550100',
      agent: {
        agentId: 'agent_1',
        instruction: 'I am calling about your table for two. Please confirm it.',
        voice: 'amber',
        language: 'en-US',
        ...agent,
      },
      inputParameters: '{}',
      externalCallId: '',
      ringTimeoutSeconds: 30,
      maxDurationSeconds: 600,
      createdAt: new Date(),
    });
    await createCarrierBindings(database).bind(callId, carrierSid);
    await client.workflow.start('CallWorkflow', { workflowId: callId, taskQueue: TASK_QUEUE, args: [] });
    running.add(callId);
    return { callId, carrierSid, streamSid: `MZ${randomBytes(16).toString('hex')}` };
  }

  async function endWorkflow(callId: string): Promise<void> {
    running.delete(callId);
    await client.workflow.getHandle(callId).terminate('the test needs it no more');
  }

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
    placeCall,
    lineOptions,
    dialIn: (call: TestCall, changes: Partial<LineOptions> = {}) => dialIn(lineOptions(call, changes)),
    openLine: async (call: TestCall) => openLine(await dialIn(lineOptions(call)), call.carrierSid, call.streamSid),

    /** The media signals in the call's history, in order. */
    async signals(callId: string): Promise<MediaSignal[]> {
      const { events } = await client.workflow.getHandle(callId).fetchHistory();
      return (events ?? []).flatMap((event) => {
        const signal = event.workflowExecutionSignaledEventAttributes;
        const data = signal?.input?.payloads?.[0]?.data;
        return signal?.signalName === 'media' && data ? [JSON.parse(Buffer.from(data).toString()) as MediaSignal] : [];
      });
    },

    endWorkflow,

    async close(): Promise<void> {
      await server.close();
      await Promise.all(Array.from(running, endWorkflow));
      await gateway.close();
      await connection.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

/** Waits until the check holds, at most `ms`. */
export async function eventually(check: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const until = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() > until) throw new Error(`not true within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
