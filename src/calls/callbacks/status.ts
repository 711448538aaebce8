import type { Logger } from '../../platform/telemetry/logger.js';
import type { CarrierEventHandlers, CarrierCallRef, StatusReport } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { findCallbackFacts } from './find-callback-request.js';

export interface StatusDeps {
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  carrierEvents: CarrierEvents;
  logger: Logger;
}

/**
 * Handles status callbacks. Some callbacks cannot change a call and are ignored: for an unknown or ended call, for a
 * carrier call that is not bound to the call, or with an intermediate status. If handling fails, the response is an
 * error, so that the carrier retries.
 */
export function createStatusHandlers(
  deps: StatusDeps,
): Pick<CarrierEventHandlers, 'handleStatus' | 'handleStatusBySid'> {
  const { gateway, requests, bindings, carrierEvents, logger } = deps;

  async function process(callId: string, carrierCall: CarrierCallRef, report: StatusReport): Promise<void> {
    const stored = store(callId, carrierCall, report);
    try {
      await signalWorkflow(callId, carrierCall, report);
    } finally {
      await stored;
    }
  }

  /**
   * Stores the callback for the call's timeline. A failure is only logged, because the workflow must still be signaled.
   */
  async function store(callId: string, { carrierSid }: CarrierCallRef, { record }: StatusReport): Promise<void> {
    try {
      await carrierEvents.add({ callId, carrierSid, ...record });
    } catch (error) {
      logger.warn({ callId, err: error }, 'status callback could not be stored for the timeline');
    }
  }

  async function signalWorkflow(callId: string, { carrierSid }: CarrierCallRef, report: StatusReport): Promise<void> {
    const { signal } = report;
    if (signal === undefined) return;
    const sequence = report.sequence ?? signal.status ?? signal.kind;
    await gateway.signalCarrier(callId, signal, `${carrierSid}:${sequence}`);
  }

  return {
    async handleStatus(callId, carrierCall, report) {
      const { carrierSid, carrier } = carrierCall;
      const facts = await findCallbackFacts(requests, callId, carrierCall);
      if (facts === undefined || carrierSid === '') return;
      if (await bindings.isBoundTo(callId, carrierSid, carrier, facts)) await process(callId, carrierCall, report);
    },

    async handleStatusBySid(carrierCall, report) {
      const binding = await bindings.findBySid(carrierCall.carrierSid);
      if (binding === null) return;
      if ((await findCallbackFacts(requests, binding._id, carrierCall)) === undefined) return;
      await process(binding._id, carrierCall, report);
    },
  };
}
