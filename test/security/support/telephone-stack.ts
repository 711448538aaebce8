import { createCallMediaServer } from '../../../src/calls/media.js';
import { createCallGateway } from '../../../src/calls/gateway.js';
import { createSimulator } from '../../../src/telephony/simulator/server.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createEngines } from '../../../src/voice/engines/engines.js';
import type { ToolResult } from '../../../src/voice/engines/port.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import type { AgentDocument } from '../../../src/agents/model.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { eventually, startService, type Customer } from '../../support/http/harness.js';
import { createScriptedEngine, type ScriptedCall } from '../../integration/voice/support/scripted-engine';
import { CARRIER_SID, CARRIER_TOKEN, REAL_CARRIER } from './real-carrier';

/** A call as the simulated carrier has recorded it. */
export interface CarrierCall {
  sid: string;
  to: string;
  status: string;
  dials: { to: string; status: string; seconds: number }[];
  twiml: string[];
}

export type TelephoneStack = Awaited<ReturnType<typeof startTelephoneStack>>;

/**
 * Starts the API, a worker, a media server and the simulated carrier, with an engine that the test controls.
 * @param options.carrier with `twilio`, the service treats the simulated carrier, which has Twilio's interface, as a
 *   real one
 */
export async function startTelephoneStack(
  options: { carrier?: 'twilio' | 'simulator'; env?: Record<string, string> } = {},
) {
  const ports = createPorts(process.env);
  const [apiPort, mediaPort, carrierPort] = [await ports.take(), await ports.take(), await ports.take()];
  const carrierUrl = `http://127.0.0.1:${carrierPort}`;
  const addresses = {
    API_PORT: String(apiPort),
    PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
    MEDIA_PORT: String(mediaPort),
    STREAM_URL: `ws://127.0.0.1:${mediaPort}/stream`,
    SIMULATOR_PORT: String(carrierPort),
    SIMULATOR_URL: carrierUrl,
    SIMULATOR_ACCOUNT_SID: CARRIER_SID,
    SIMULATOR_AUTH_TOKEN: CARRIER_TOKEN,
    SIMULATOR_TIME_SCALE: '0.2',
  };
  const logger = createLogger({ role: 'test', level: 'silent' });
  const simulator = createSimulator({ config: parseConfig({ NODE_ENV: 'test', ...addresses }), logger });
  await simulator.listen();
  const service = await startService({
    env: {
      ...addresses,
      ...(options.carrier === 'twilio' ? { ...REAL_CARRIER, CARRIER_BASE_URL: carrierUrl } : {}),
      ...options.env,
    },
  });
  const { config, database } = service;
  const gateway = await createCallGateway({ config });
  const engine = createScriptedEngine();
  const engines = createEngines({ defaultEngine: engine.factory, testEngine: engine.factory });
  const media = createCallMediaServer({ config, database, gateway, engines, logger });
  await media.listen();

  async function readSimulator<T>(path: string): Promise<T> {
    return (await (await fetch(`${carrierUrl}/simulator${path}`)).json()) as T;
  }

  return {
    service,

    /** Places a call of the customer's agent, which gets these abilities. Resolves when the call's engine can speak. */
    async placeCall(customer: Customer, to: string, abilities: Partial<AgentDocument> = {}) {
      const { _id: agentId } = customer.agent;
      await database.agents.updateOne({ _id: agentId }, abilities);
      const answer = await service.place(customer.liveKey, { to_phone_number: to, agent_id: agentId });
      if (answer.status !== 200) throw new Error(`The call was rejected: ${answer.text}`);
      const callId = String(answer.json['call_id']);
      return { callId, ...(await this.engineOf(callId)) };
    },

    async engineOf(callId: string) {
      const scripted: ScriptedCall = await eventually(async () => engine.calls.get(callId));
      const use = (name: string, given: Record<string, unknown>): Promise<ToolResult> =>
        scripted.sink.runTool({ name, arguments: given });
      return { scripted, use, transfer: (number: string) => use('transfer_call', { number }) };
    },

    /**
     * Makes the carrier receive a call to the customer's number. Resolves with the call's id when the service has
     * stored the call.
     */
    async receiveCall(customer: Customer): Promise<string> {
      await fetch(`${carrierUrl}/simulator/inbound`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ to: '+12025550199', from: '+12025550100', agent_id: customer.agent._id, script: '07' }),
      });
      const call = await eventually(() =>
        database.calls.findOne({ accountId: customer.account._id, direction: 'inbound' }).lean<CallDocument>(),
      );
      return call._id;
    },

    waitForEnd(callId: string): Promise<CallDocument> {
      return eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        return call?.endTime !== undefined && call;
      });
    },

    /** Returns every call that the carrier was asked to place. */
    async carrierCalls(): Promise<CarrierCall[]> {
      const { calls } = await readSimulator<{ calls: { sid: string }[] }>('/calls');
      return Promise.all(calls.map(({ sid }) => readSimulator<CarrierCall>(`/calls/${sid}`)));
    },

    async carrierCall(callId: string): Promise<CarrierCall> {
      const binding = await database.carrierBindings.findById(callId).lean();
      return readSimulator(`/calls/${binding?.carrierSid}`);
    },

    async close(): Promise<void> {
      await media.close();
      await gateway.close();
      await service.close();
      await simulator.close();
      await ports.release();
    },
  };
}
