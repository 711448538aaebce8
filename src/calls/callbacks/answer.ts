import { NO_STREAM } from '../../kernel/resumption.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallInstructions, CarrierCallRef } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallQueries } from '../call-queries.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { findCallbackRequest } from './find-callback-request.js';
import { createDecideWithRetries } from './decide-with-retries.js';

export interface AnswerDeps {
  gateway: CallGateway;
  requests: CallRequests;
  queries: CallQueries;
  bindings: CarrierBindings;
  logger: Logger;
}

/**
 * Handles an answered outbound call. Only the carrier call that is bound to our call gets a media stream. Any other
 * carrier call is hung up at once.
 */
export function createAnswerOutboundCall(deps: AnswerDeps): CallInstructions['answerOutboundCall'] {
  const { requests, queries, bindings, logger } = deps;
  const decideWithRetries = createDecideWithRetries(deps);

  async function isWanted(callId: string, carrierCall: CarrierCallRef): Promise<boolean> {
    const { carrier, carrierSid } = carrierCall;
    const request = await findCallbackRequest(requests, callId, carrierCall);
    if (request?.direction !== 'outbound' || carrierSid === '') return false;
    if (await queries.isFinal(callId)) return false;
    const binding = await bindings.bind(callId, carrierSid, carrier, { direction: 'outbound' });
    if (binding.closed === true || binding.carrierSid !== carrierSid) return false;
    // Without this record, the call would be free: it would prove that we never told the carrier what to do.
    await bindings.recordInstruction(callId, carrierSid);
    return true;
  }

  return (callId, carrierCall, context) =>
    decideWithRetries({ callId, carrierCall, context, lastStream: NO_STREAM, isConversationOver: false }, async () => {
      if (await isWanted(callId, carrierCall)) return { kind: 'stream', callId };
      logger.warn({ callId }, 'unknown carrier call hung up');
      return { kind: 'hang_up' };
    });
}
