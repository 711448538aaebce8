import type { CallEvents } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { CallRequests } from '../call-requests.js';
import { calledRequest } from './called-request.js';

export interface TransferStatusDeps {
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  dialGate: DialGate;
}

/**
 * Handles the callback that a transfer was answered, so that it no longer counts as an unanswered attempt. Callbacks
 * that do not match a transfer of the call are ignored.
 */
export function createNoteTransferAnswer(deps: TransferStatusDeps): CallEvents['transferAnswered'] {
  const { requests, bindings, results, dialGate } = deps;
  return async (callId, { mode, carrierSid }) => {
    if ((await calledRequest(requests, callId, mode)) === undefined) return;
    if ((await bindings.find(callId))?.carrierSid !== carrierSid) return;
    const transferTo = (await results.findHead(callId))?.transferTo;
    if (transferTo !== undefined) await dialGate.transferAnswered(callId, transferTo);
  };
}
