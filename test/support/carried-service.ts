import { createPorts } from '../../src/dev/processes/free-port.js';
import type { CarrierEventDocument } from '../../src/telephony/carrier-event-model.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import { eventually, startService, type Customer } from './http/harness';
import { startSimulatedTwilio } from './simulated-twilio';

export type CarriedService = Awaited<ReturnType<typeof startCarriedService>>;

/**
 * Starts the real service on the simulated carrier, which it takes for Twilio. No media server runs.
 * @param settings.carrier settings of the simulated carrier that the service does not know
 * @param settings.service settings of the service
 */
export async function startCarriedService(
  settings: { carrier?: Record<string, string>; service?: Record<string, string> } = {},
) {
  const free = createPorts(process.env);
  const ports = { api: await free.take(), media: await free.take(), carrier: await free.take() };
  const carrier = await startSimulatedTwilio(ports, settings.carrier);
  const log: Record<string, unknown>[] = [];
  const service = await startService({
    env: { API_PORT: String(ports.api), LOG_LEVEL: 'warn', ...carrier.env, ...settings.service },
    onLog: (line) => void log.push(JSON.parse(line) as Record<string, unknown>),
  });
  const { database } = service;
  const carrierUrl = `http://127.0.0.1:${ports.carrier}`;

  return {
    service,
    database,
    /** The lines of the service's log from `warn` on. */
    log,

    /** Places a live call to a scripted number. */
    async place(customer: Customer, script: string, more: Record<string, unknown> = {}): Promise<string> {
      const answer = await service.place(customer.liveKey, {
        to_phone_number: `+120255501${script}`,
        agent_id: customer.agent._id,
        ...more,
      });
      if (answer.status !== 200) throw new Error(`The call was refused: ${answer.text}`);
      return String(answer.json['call_id']);
    },

    async call(callId: string): Promise<CallDocument | null> {
      return database.calls.findById(callId).lean<CallDocument>();
    },

    ended(callId: string, withinMs = 60_000): Promise<CallDocument> {
      return eventually(async () => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        return call?.endTime !== undefined && call.costMicros !== undefined && call;
      }, withinMs);
    },

    timeline(callId: string): Promise<CarrierEventDocument[]> {
      return database.carrierEvents.find({ callId }).lean<CarrierEventDocument[]>().exec();
    },

    /** Returns what the simulated carrier knows about a call. */
    async carrierCall(sid: string): Promise<Record<string, unknown>> {
      return (await (await fetch(`${carrierUrl}/simulator/calls/${sid}`)).json()) as Record<string, unknown>;
    },

    async carrierCalls(): Promise<Record<string, unknown>[]> {
      const response = await fetch(`${carrierUrl}/simulator/calls`);
      return ((await response.json()) as { calls: Record<string, unknown>[] }).calls;
    },

    async close(): Promise<void> {
      await service.close();
      await carrier.close();
      await free.release();
    },
  };
}
