import { createCallResults } from '../../src/calls/wiring.js';
import { createCallMediaServer } from '../../src/calls/media.js';
import { createCallGateway, type CallGateway } from '../../src/calls/gateway.js';
import { createSimulator, type Simulator } from '../../src/telephony/simulator/server.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createEngines } from '../../src/voice/engines/engines.js';
import type { MediaServer } from '../../src/voice/media/media-server.js';
import { createPorts, type Ports } from '../../src/dev/processes/free-port.js';
import type { AgentDocument } from '../../src/agents/model.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';

/**
 * The engine of the media process, which the test controls. The API, the worker, the media server and the simulated
 * carrier are real.
 */
const engine = createScriptedEngine();
let ports: Ports;
let simulator: Simulator;
let service: Service;
let gateway: CallGateway;
let media: MediaServer;
let customer: Customer;

beforeAll(async () => {
  ports = createPorts(process.env);
  const [apiPort, mediaPort, simulatorPort] = [await ports.take(), await ports.take(), await ports.take()];
  const env = {
    API_PORT: String(apiPort),
    PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
    MEDIA_PORT: String(mediaPort),
    STREAM_URL: `ws://127.0.0.1:${mediaPort}/stream`,
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
  };
  const logger = createLogger({ role: 'test', level: 'silent' });
  simulator = createSimulator({ config: parseConfig({ NODE_ENV: 'test', ...env }), logger });
  await simulator.listen();
  service = await startService({ env });
  const { config, database } = service;
  gateway = await createCallGateway({ config });
  const engines = createEngines({ defaultEngine: engine.factory, testEngine: engine.factory });
  media = createCallMediaServer({ config, database, gateway, engines, logger });
  await media.listen();
  customer = await service.customer();
}, 120_000);

afterAll(async () => {
  await media.close();
  await gateway.close();
  await service.close();
  await simulator.close();
  await ports.release();
});

/** Sets the agent's transfer and voicemail settings, places a call, and waits until its engine can speak. */
async function placed(to: string, abilities: Partial<AgentDocument>) {
  const { _id: agentId } = customer.agent;
  await service.database.agents.updateOne({ _id: agentId }, abilities);
  const answer = await service.place(customer.liveKey, { to_phone_number: to, agent_id: agentId });
  expect(answer.status).toBe(200);
  const callId = String(answer.json['call_id']);
  const scripted: ScriptedCall = await eventually(async () => engine.calls.get(callId));
  return { callId, scripted };
}

const ended = (callId: string) =>
  eventually(async () => {
    const call = await service.database.calls.findById(callId).lean<CallDocument>();
    return call?.durationSeconds !== undefined && call.summary !== undefined && call;
  });

/** Returns the call as the carrier has recorded it. */
async function carrierCall(
  callId: string,
): Promise<{ dials: { to: string; status: string; seconds: number }[]; twiml: string[] }> {
  const binding = await service.database.carrierBindings.findById(callId).lean();
  const response = await fetch(`${service.config.carriers.live.baseUrl}/simulator/calls/${binding?.carrierSid}`);
  return (await response.json()) as Awaited<ReturnType<typeof carrierCall>>;
}

describe('a transfer', () => {
  it('connects the callee with the other number, and bills until that conversation ends', async () => {
    const { callId, scripted } = await placed('+12025550100', { transferNumbers: ['+12025550106'] });
    scripted.sink.sendAudio('words', new Uint8Array(8_000).fill(0x20));
    scripted.sink.endItem('words');
    expect(await scripted.sink.runTool({ name: 'transfer_call', arguments: { number: '+12025550106' } })).toMatchObject(
      {
        ok: true,
      },
    );
    const call = await ended(callId);
    expect(call).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', summary: 'Scripted.' });
    const result = await createCallResults(service.database).find(callId);
    expect(result).toMatchObject({ endReason: 'transferred', transferTo: '+12025550106' });
    const { dials } = await carrierCall(callId);
    expect(dials).toMatchObject([{ to: '+12025550106', status: 'completed' }]);
    const streamSeconds = (Number(result?.endedAt) - Number(result?.startedAt)) / 1_000;
    expect(call.durationSeconds).toBeGreaterThan(Math.floor(streamSeconds));
    expect(call.costMicros).toBe((call.durationSeconds ?? 0) * 2_500);
  });

  it('ends with an apology if the other number is busy', async () => {
    const { callId, scripted } = await placed('+12025550100', { transferNumbers: ['+12025550101'] });
    await scripted.sink.runTool({ name: 'transfer_call', arguments: { number: '+12025550101' } });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED' });
    const { dials, twiml } = await carrierCall(callId);
    expect(dials).toMatchObject([{ to: '+12025550101', status: 'busy' }]);
    expect(twiml.at(-1)).toContain('the other party did not answer');
  });
});

describe('a voicemail that answers', () => {
  it('is hung up on when the carrier detects it', async () => {
    const { callId } = await placed('+12025550105', { voicemailAction: 'hang_up' });
    const call = await ended(callId);
    expect(call).toMatchObject({ status: 'COMPLETED', endReason: 'voicemail', answeredBy: 'voicemail' });
    expect(engine.calls.get(callId)).toMatchObject({ answeredBy: ['voicemail'], stopped: 'voicemail' });
  });

  it('is passed to the engine after its greeting if the agent leaves messages', async () => {
    const { callId, scripted } = await placed('+12025550105', { voicemailAction: 'leave_message' });
    await eventually(async () => scripted.answeredBy.length > 0);
    expect(scripted.answeredBy).toEqual(['voicemail']);
    expect(scripted.stopped).toBeUndefined();
    scripted.sink.end('voicemail');
    expect(await ended(callId)).toMatchObject({ endReason: 'voicemail', answeredBy: 'voicemail' });
  });

  it('is treated like a person if the agent continues in any case', async () => {
    const { callId, scripted } = await placed('+12025550105', { voicemailAction: 'continue' });
    const { twiml } = await carrierCall(callId);
    expect(twiml[0]).toContain('<Stream');
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(scripted.answeredBy).toEqual([]);
    scripted.sink.end('agent_hangup');
    expect((await ended(callId)).endReason).toBe('agent_hangup');
  });
});
