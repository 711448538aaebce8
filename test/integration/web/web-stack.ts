import { createCallMediaServer } from '../../../src/calls/media.js';
import { createCallGateway } from '../../../src/calls/gateway.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { legIdOf } from '../../../src/telephony/web/leg.js';
import type { WebLegDocument } from '../../../src/telephony/web/leg-model.js';
import { createEngines } from '../../../src/voice/engines/engines.js';
import { eventually, startService, type Customer, type ServiceResponse } from '../../support/http/harness.js';
import { createScriptedEngine } from '../voice/support/scripted-engine';
import { openBrowserLine, type BrowserLine } from './browser-line';

export interface WebCall {
  callId: string;
  url: string;
  token: string;
}

export type WebStack = Awaited<ReturnType<typeof startWebStack>>;

/** Starts one stack, with a customer, for all tests of a file. */
export function useWebStack(
  onStart: (started: { stack: WebStack; customer: Customer }) => void,
  options: Parameters<typeof startWebStack>[0] = {},
): void {
  let stack: WebStack | undefined;
  beforeAll(async () => {
    stack = await startWebStack(options);
    onStart({ stack, customer: await stack.service.customer() });
  }, 120_000);
  afterAll(() => stack?.close());
}

/** Starts the API, a worker and two media servers, with an engine that the test controls. */
export async function startWebStack(options: { env?: Record<string, string>; worker?: false } = {}) {
  const ports = createPorts(process.env);
  const [apiPort, mediaPort, otherPort] = [await ports.take(), await ports.take(), await ports.take()];
  const streamUrlAt = (port: number) => `ws://127.0.0.1:${port}/stream`;
  const service = await startService({
    ...(options.worker === false ? { worker: false } : {}),
    env: {
      API_PORT: String(apiPort),
      PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
      MEDIA_PORT: String(mediaPort),
      STREAM_URL: streamUrlAt(mediaPort),
      ...options.env,
    },
  });
  const { config, database } = service;
  const gateway = await createCallGateway({ config });
  const engine = createScriptedEngine();
  const engines = createEngines({ defaultEngine: engine.factory, testEngine: engine.factory });
  const logger = createLogger({ role: 'test', level: process.env['TEST_LOG_LEVEL'] ?? 'silent' });
  const deps = { config, database, gateway, engines, logger, timings: { legsEveryMs: 100, shutdownGraceMs: 100 } };
  const startMedia = (port: number) =>
    createCallMediaServer({ ...deps, config: { ...config, media: { ...config.media, port } } });
  const media = startMedia(mediaPort);
  await media.listen();
  let other: ReturnType<typeof startMedia> | undefined;

  return {
    service,
    engine,
    mediaPort,
    otherPort,

    /** The environment of a separate process of this service. */
    roleEnv: {
      NODE_ENV: 'test',
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      PUBLIC_BASE_URL: config.publicBaseUrl,
      STREAM_URL: config.streamUrl,
      MONGODB_URI: config.mongodbUri,
      TEMPORAL_ADDRESS: config.temporal.address,
      TEMPORAL_TASK_QUEUE: config.temporal.taskQueues.calls,
    },

    /** The address of a call's socket at the media server on this port. */
    urlAt: (callId: string, port: number) => `${streamUrlAt(port)}/${callId}/web`,

    /** Starts the second media server. */
    async listenOther(): Promise<void> {
      other = startMedia(otherPort);
      await other.listen();
    },

    /** Stops the first media server as an orchestrator does. */
    closeFirst: () => media.close(),

    request: (key: string, body: unknown): Promise<ServiceResponse> =>
      service.request('/web_calls', {
        method: 'POST',
        key,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),

    async create(key: string, body: unknown = { instruction: 'Ask for the day.' }): Promise<WebCall> {
      const response = await this.request(key, body);
      if (response.status !== 200) throw new Error(`The call was rejected: ${response.text}`);
      const { call_id: callId, url, token } = response.json as { call_id: string; url: string; token: string };
      return { callId, url, token };
    },

    /** Creates a call and opens its first socket. */
    async talk(key: string, body?: unknown) {
      return this.talkIn(await this.create(key, body));
    },

    /** Opens the first socket of a call. */
    async talkIn(call: WebCall) {
      const line = await openBrowserLine(call);
      await line.ready();
      line.speak();
      return { ...call, line, scripted: await this.scripted(call.callId) };
    },

    scripted: (callId: string) => eventually(async () => engine.calls.get(callId)),

    /** Makes the agent speak, and waits until the browser has played it. */
    async say(callId: string, line: BrowserLine): Promise<void> {
      const scripted = await this.scripted(callId);
      scripted.sink.sendAudio('item', Buffer.alloc(800, 0x7f));
      scripted.sink.endItem('item');
      await line.next('media');
      await eventually(async () => scripted.played.some(({ complete }) => complete));
    },

    /** Opens another socket of the call, at another media server if a port is given. */
    reopen(call: { url: string }, token: string, port = mediaPort) {
      return openBrowserLine({ url: call.url.replace(`:${mediaPort}/`, `:${port}/`), token });
    },

    async leg(callId: string): Promise<WebLegDocument> {
      return (await database.webLegs.findById(legIdOf(callId)).lean<WebLegDocument>())!;
    },

    /** Waits until the service knows that the browser has its next token, so that the one before is used up. */
    async tokenUsedUp(callId: string): Promise<void> {
      await eventually(async () => {
        const { startedAt, previousTokenHash } = await this.leg(callId);
        return startedAt !== undefined && previousTokenHash === undefined;
      });
    },

    /** Waits until the service has seen the browser later than at this time. */
    async seenAfter(callId: string, time: Date): Promise<void> {
      await eventually(async () => (await this.leg(callId)).seenAt > time);
    },

    /** Moves the times of a leg to the past, so that the test need not wait. */
    async age(callId: string, fields: readonly (keyof WebLegDocument)[], ms: number): Promise<void> {
      const leg = await this.leg(callId);
      const times = fields.map((field) => [field, new Date((leg[field] as Date).getTime() - ms)] as const);
      await database.webLegs.updateOne({ _id: leg._id }, { $set: Object.fromEntries(times) });
    },

    ended(callId: string): Promise<CallDocument> {
      return eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        return call?.endTime !== undefined && call.costMicros !== undefined && call;
      });
    },

    async close(): Promise<void> {
      await media.close();
      await other?.close();
      await gateway.close();
      await service.close();
      await ports.release();
    },
  };
}
