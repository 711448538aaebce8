import type { CallDocument } from '../../../../src/calls/call-model.js';
import { parseConfig } from '../../../../src/platform/config/config.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { createSimulator } from '../../../../src/telephony/simulator/server.js';
import { eventually, startService } from '../../../support/http/harness.js';

/** The callee of this number never answers, so a call rings for as long as a test needs. */
const NEVER_ANSWERS = '+12025550102';
export const APOLOGY = /<Response><Say>.+<\/Say><Hangup\/><\/Response>/;

export type RingingCalls = Awaited<ReturnType<typeof startRingingCalls>>;

/**
 * Starts the service and a carrier that accepts its calls. The carrier sends its callbacks to an unused address, so the
 * service gets only the callbacks that the tests send.
 */
export async function startRingingCalls() {
  const config = parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0', PUBLIC_BASE_URL: 'http://127.0.0.1:9' });
  const simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
  const { port } = await simulator.listen();
  const service = await startService({ env: { SIMULATOR_URL: `http://127.0.0.1:${port}` } });
  const customer = await service.customer();

  async function carrierSids(): Promise<string[]> {
    const response = await fetch(`${service.config.carriers.live.baseUrl}/simulator/calls`);
    const { calls } = (await response.json()) as { calls: { sid: string }[] };
    return calls.map(({ sid }) => sid);
  }

  return {
    service,
    customer,

    /** Places a call. Returns the service's id of the call and the carrier's. */
    async placeRingingCall(): Promise<{ callId: string; sid: string }> {
      const before = new Set(await carrierSids());
      const answer = await service.place(customer.liveKey, {
        to_phone_number: NEVER_ANSWERS,
        agent_id: customer.agent._id,
      });
      const sid = await eventually(async () => (await carrierSids()).find((known) => !before.has(known)));
      return { callId: String(answer.json['call_id']), sid };
    },

    callOf: (callId: string) => service.database.calls.findById(callId).lean<CallDocument>(),

    async close(): Promise<void> {
      await service.close();
      await simulator.close();
    },
  };
}
