import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallInstructions, CarrierCallRef } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallQueries } from '../call-queries.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { calledRequest } from './called-request.js';
import { createInstructing } from './own-faults.js';

export interface AnswerDeps {
  gateway: CallGateway;
  requests: CallRequests;
  queries: CallQueries;
  bindings: CarrierBindings;
  logger: Logger;
}

/**
 * Handles an answered outbound call. Only the one carrier call that is bound to the call gets a media stream; any other
 * is hung up at once.
 */
export function createAnswerOutboundCall(deps: AnswerDeps): CallInstructions['answered'] {
  const { requests, queries, bindings, logger } = deps;
  const instructed = createInstructing(deps);

  async function isWanted(callId: string, { mode, carrier, carrierSid }: CarrierCallRef): Promise<boolean> {
    const request = await calledRequest(requests, callId, mode);
    if (request?.direction !== 'outbound' || carrierSid === '') return false;
    if (await queries.isFinal(callId)) return false;
    const binding = await bindings.bind(callId, carrierSid, carrier);
    return binding.closed !== true && binding.carrierSid === carrierSid;
  }

  return (callId, told, terms) =>
    instructed({ callId, told, terms, isTalkOver: false }, async () => {
      if (await isWanted(callId, told)) return { kind: 'stream', callId };
      logger.warn({ callId }, 'a carrier call that is not wanted was hung up');
      return { kind: 'hang_up' };
    });
}
