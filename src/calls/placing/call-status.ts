import type { CallResponse, CallResponseStatus } from './contract.js';
import type { CallStatus } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import type { CallQueries } from '../call-queries.js';
import type { CallDocument } from '../call-model.js';
import type { Principal } from '../../identity/access/principal.js';

const MESSAGES: Readonly<Record<CallResponseStatus, string>> = {
  IDLE: 'The call is waiting to be placed.',
  RINGING: 'The call is ringing.',
  IN_PROGRESS: 'The call is in progress.',
  COMPLETED: 'The call is completed.',
  FAILED: 'The call did not take place.',
};

/**
 * Finds a call within the account and mode of the request.
 * @param callId the unvalidated value from the request
 * @throws ServiceError CALL_NOT_FOUND
 */
export async function findCall(queries: CallQueries, principal: Principal, callId: unknown): Promise<CallDocument> {
  const { account, mode } = principal;
  const found =
    typeof callId === 'string' && CALL_ID_PATTERN.test(callId)
      ? await queries.find({ callId, accountId: account._id, mode })
      : null;
  if (found === null) throw new ServiceError('CALL_NOT_FOUND', 'There is no call with this call_id.');
  return found;
}

export function callResponse(call: CallDocument): CallResponse {
  const status = responseStatus(call.status);
  return { success: true, call_id: call._id, status, message: statusMessage(call, status) };
}

function statusMessage(call: CallDocument, status: CallResponseStatus): string {
  if (status === 'IDLE' && call.waitingFor === 'dial_slot') return 'The call is waiting for a dial slot.';
  return MESSAGES[status];
}

/** Converts a call's status to one that /outbound_call returns: it shows CANCELLED as FAILED. */
function responseStatus(status: CallStatus): CallResponseStatus {
  return status === 'CANCELLED' ? 'FAILED' : status;
}
