import type { CarrierEventHandlers } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallRequests } from '../call-requests.js';
import { findCallbackRequest } from './find-callback-request.js';

export interface AnsweredByDeps {
  requests: CallRequests;
  bindings: CarrierBindings;
}

/**
 * Stores the result of answering machine detection, so that the media process of the call can read it. The workflow
 * receives the result together with the conversation's result.
 */
export function createRecordAnsweredBy({
  requests,
  bindings,
}: AnsweredByDeps): CarrierEventHandlers['recordAnsweredBy'] {
  return async (callId, carrierCall, answeredBy) => {
    if ((await findCallbackRequest(requests, callId, carrierCall)) === undefined) return;
    await bindings.recordAnsweredBy(callId, carrierCall.carrierSid, answeredBy);
  };
}
