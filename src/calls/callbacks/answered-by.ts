import type { CallEvents } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallRequests } from '../call-requests.js';
import { calledRequest } from './called-request.js';

export interface AnsweredByDeps {
  requests: CallRequests;
  bindings: CarrierBindings;
}

/**
 * Stores the result of answering machine detection, where the media process of the call reads it. The workflow receives
 * it with the conversation's result.
 */
export function createNoteAnsweredBy({ requests, bindings }: AnsweredByDeps): CallEvents['answeredBy'] {
  return async (callId, { mode, carrierSid }, who) => {
    if ((await calledRequest(requests, callId, mode)) === undefined) return;
    await bindings.noteAnsweredBy(callId, carrierSid, who);
  };
}
