import type { CarrierEventHandlers } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { CallRequests } from '../call-requests.js';
import { findCallbackRequest } from './find-callback-request.js';

export interface TransferStatusDeps {
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  dialGate: DialGate;
}

/**
 * Handles the callback that the target of a transfer answered, so that the transfer does not count as unanswered.
 * Callbacks that do not match a transfer of the call are ignored.
 */
export function createRecordTransferAnswer(deps: TransferStatusDeps): CarrierEventHandlers['recordTransferAnswer'] {
  const { requests, bindings, results, dialGate } = deps;
  return async (callId, carrierCall) => {
    if ((await findCallbackRequest(requests, callId, carrierCall)) === undefined) return;
    if ((await bindings.find(callId))?.carrierSid !== carrierCall.carrierSid) return;
    const transferTo = (await results.findHead(callId))?.transferTo;
    if (transferTo !== undefined) await dialGate.markTransferAnswered(callId, transferTo);
  };
}
