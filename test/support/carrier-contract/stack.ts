import type { CallDocument } from '../../../src/calls/call-model.js';
import { createCallGateway } from '../../../src/calls/gateway.js';
import { createCallMediaServer } from '../../../src/calls/media.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import type { Mode } from '../../../src/kernel/ids.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import type { AgentDocument } from '../../../src/agents/model.js';
import { CARRIERS } from '../../../src/telephony/carrier-list.js';
import { createCarriers } from '../../../src/telephony/carriers.js';
import type { Carrier } from '../../../src/telephony/port.js';
import { createEngines } from '../../../src/voice/engines/engines.js';
import { createScriptedEngine } from '../../integration/voice/support/scripted-engine';
import { eventually, startService, type Service } from '../http/harness';
import type { CarrierServer, Ports } from './double';

export type ContractStack = Awaited<ReturnType<typeof startStack>>;

/** Starts the server of a carrier, and the API, a worker and a media server, with an engine that the test controls. */
export async function startStack(start: (ports: Ports) => Promise<CarrierServer>) {
  const free = createPorts(process.env);
  const ports = { api: await free.take(), media: await free.take(), carrier: await free.take() };
  const closed = await free.take();
  const server = await start(ports);
  const factories = server.factories ?? CARRIERS;
  const service: Service = await startService({
    env: {
      API_PORT: String(ports.api),
      PUBLIC_BASE_URL: `http://127.0.0.1:${ports.api}`,
      MEDIA_PORT: String(ports.media),
      STREAM_URL: `ws://127.0.0.1:${ports.media}/stream`,
      HOLD_WINDOWS: '3,100',
      // The tests call the same number several times at once.
      UNANSWERED_ATTEMPTS_PER_HOUR: 'none',
      ...server.env,
    },
    carriers: factories,
    ...(server.adapt && { adapt: (config) => server.adapt?.(config) ?? config }),
  });
  const { config, database } = service;
  const carriers = createCarriers({ config, factories });
  const gateway = await createCallGateway({ config });
  const engine = createScriptedEngine();
  const engines = createEngines({ defaultEngine: engine.factory, testEngine: engine.factory });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const media = createCallMediaServer({
    config,
    database,
    gateway,
    engines,
    logger,
    carriers,
    timings: { legsEveryMs: 100 },
  });
  await media.listen();
  let lastTurn: Promise<unknown> = Promise.resolve();

  return {
    service,
    server,
    carriers,
    engine,

    /** The carrier of a mode, as a process with another account or a shorter time limit of requests has it. */
    carrierWith(mode: Mode, { timeoutMs, isClosed }: { timeoutMs?: number; isClosed?: true }): Carrier {
      const account = { ...config.carriers[mode], ...(isClosed && { baseUrl: `http://127.0.0.1:${closed}` }) };
      const own = { ...config, carriers: { ...config.carriers, [mode]: account } };
      return createCarriers({ config: own, factories, ...(timeoutMs === undefined ? {} : { timeoutMs }) })[mode];
    },

    /** Starts calls one after the other, because a busy service rejects some of those that begin at the same moment. */
    inTurn<T>(start: () => Promise<T>): Promise<T> {
      const turn = lastTurn.then(start);
      lastTurn = turn.catch(() => undefined);
      return turn;
    },

    /** Creates an agent of an account that differs from the account's other agents. */
    async newAgent(accountId: string, fields: Partial<AgentDocument>): Promise<string> {
      const { _id } = await service.agents.create({
        accountId,
        name: 'Contract',
        instruction: 'Ask for the day.',
        voice: 'amber',
        language: 'en-US',
      });
      await database.agents.updateOne({ _id }, { $set: fields });
      return _id;
    },

    bindingOf: (callId: string) => database.carrierBindings.findById(callId).lean(),
    requestOf: (callId: string) => database.callRequests.findById(callId).lean(),

    /** Resolves when the call's engine can speak. */
    async conversationOf(callId: string) {
      const scripted = await eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        if (call?.endTime !== undefined) throw new Error(`${callId} ended without a conversation: ${call.endReason}`);
        return engine.calls.get(callId);
      }, 20_000);
      const binding = await eventually(() => database.carrierBindings.findById(callId).lean());
      return { callId, scripted, sink: scripted.sink, binding };
    },

    ended(callId: string): Promise<CallDocument> {
      return eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        return call?.endTime !== undefined && call;
      }, 40_000);
    },

    async timeline(callId: string) {
      return database.carrierEvents.find({ callId }).lean();
    },

    async close(): Promise<void> {
      await media.close();
      await gateway.close();
      await service.close();
      await server.close();
      await free.release();
    },
  };
}
