import { createRecentEntries } from '../../platform/recent-entries.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CarrierEventHandlers, CarrierCallRef, StatusReport } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { findCallbackFacts } from './find-callback-request.js';

/** Signals that this process has sent, about 200 bytes each. Temporal drops those that it forgets and sends again. */
const RECENT_SIGNALS = { maxEntries: 10_000, maxAgeMs: 10 * 60_000 };

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
  const signaled = createRecentEntries<true>(RECENT_SIGNALS);

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
  async function store(callId: string, { carrierSid }: CarrierCallRef, report: StatusReport): Promise<void> {
    try {
      await carrierEvents.add({ callId, carrierSid, ...report.record }, report.signal?.status);
    } catch (error) {
      logger.warn({ callId, err: error }, 'status callback could not be stored for the timeline');
    }
  }

  /**
   * Signals that the call was answered, or has ended, once for each result of detection, because any further signal would
   * change nothing. However many callbacks there are, the call gets few signals, also from several processes.
   */
  async function signalWorkflow(
    callId: string,
    { carrierSid }: CarrierCallRef,
    { signal }: StatusReport,
  ): Promise<void> {
    if (signal === undefined) return;
    const requestId = `${carrierSid}:${signal.kind}:${signal.answeredBy ?? ''}`;
    const key = `${callId}:${requestId}`;
    if (signaled.get(key)) return;
    await gateway.signalCarrier(callId, signal, requestId);
    signaled.set(key, true);
  }

  return {
    async handleStatus(callId, carrierCall, report) {
      const { carrierSid, carrier } = carrierCall;
      const facts = await findCallbackFacts(requests, callId, carrierCall);
      if (facts === undefined || carrierSid === '') return;
      const { status, at, sequence } = report.record;
      if (status === 'initiated' && report.signal === undefined) {
        // Changes no call, so the binding, which it often inserts, has room for it.
        const ref = { callId, carrierSid, carrier, facts };
        return bindings.recordInitiated(ref, { receivedAt: new Date(), at, sequence });
      }
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
