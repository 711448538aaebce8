import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallEvents, CarrierCallRef, StatusReport } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { calledRequest } from './called-request.js';

export interface StatusDeps {
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  carrierEvents: CarrierEvents;
  logger: Logger;
}

/**
 * Handles status callbacks. Callbacks that cannot change a call are ignored: for an unknown or ended call, for a
 * carrier call that is not the bound one, or with an intermediate status. An error rejects the callback, so the carrier
 * retries.
 */
export function createCarrierStatus(deps: StatusDeps): Pick<CallEvents, 'statusOf' | 'status'> {
  const { gateway, requests, bindings, carrierEvents, logger } = deps;

  async function signal(callId: string, told: CarrierCallRef, report: StatusReport): Promise<void> {
    const noted = remember(callId, told, report);
    try {
      await tell(callId, told, report);
    } finally {
      await noted;
    }
  }

  /** Stores the callback for the call's timeline. A failure is only logged: the workflow must still be signaled. */
  async function remember(callId: string, { carrierSid }: CarrierCallRef, { record }: StatusReport): Promise<void> {
    try {
      await carrierEvents.add({ callId, carrierSid, ...record });
    } catch (error) {
      logger.warn({ callId, err: error }, 'a callback of the carrier could not be kept for the timeline');
    }
  }

  async function tell(callId: string, { carrierSid }: CarrierCallRef, report: StatusReport): Promise<void> {
    const told = report.signal;
    if (told === undefined) return;
    const sequence = report.sequence ?? told.status ?? told.kind;
    await gateway.signalCarrier(callId, told, `${carrierSid}:${sequence}`);
  }

  return {
    async statusOf(callId, told, report) {
      const request = await calledRequest(requests, callId, told.mode);
      if (request === undefined || told.carrierSid === '') return;
      const binding = await bindings.bind(callId, told.carrierSid, told.carrier);
      if (binding.carrierSid === told.carrierSid) await signal(callId, told, report);
    },

    async status(told, report) {
      const binding = await bindings.findBySid(told.carrierSid);
      if (binding === null || (await calledRequest(requests, binding._id, told.mode)) === undefined) return;
      await signal(binding._id, told, report);
    },
  };
}
