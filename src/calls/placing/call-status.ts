import type { CallResponse, CallResponseStatus } from './contract.js';
import type { CallStatus } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import type { BriefCall, CallKey, CallQueries, ShownStatus, WholeCall } from '../call-queries.js';
import type { RawDocument } from '../../platform/mongo/raw-document.js';
import type { Principal } from '../../identity/access/principal.js';

const MESSAGES: Readonly<Record<CallResponseStatus, string>> = {
  IDLE: 'The call is waiting to be placed.',
  RINGING: 'The call is ringing.',
  IN_PROGRESS: 'The call is in progress.',
  COMPLETED: 'The call is completed.',
  FAILED: 'The call did not take place.',
};

/**
 * Finds a call within the account and mode of the request, without its transcription.
 * @param callId the unvalidated value from the request
 * @throws ServiceError CALL_NOT_FOUND
 */
export function findCall(queries: CallQueries, principal: Principal, callId: unknown): Promise<BriefCall> {
  return find(principal, callId, (key) => queries.find(key));
}

/** Finds a call as `findCall` does, but only what `callResponse` needs. */
export function findStatus(queries: CallQueries, principal: Principal, callId: unknown): Promise<ShownStatus> {
  return find(principal, callId, (key) => queries.findStatus(key));
}

/** Finds a call as `findCall` does, with its transcription. */
export function findWholeCall(
  queries: CallQueries,
  principal: Principal,
  callId: unknown,
): Promise<RawDocument<WholeCall>> {
  return find(principal, callId, (key) => queries.findWhole(key));
}

async function find<T>(
  { account, mode }: Principal,
  callId: unknown,
  read: (key: CallKey) => Promise<T | null>,
): Promise<T> {
  const isId = typeof callId === 'string' && CALL_ID_PATTERN.test(callId);
  const found = isId ? await read({ callId, accountId: account._id, mode }) : null;
  if (found === null) throw new ServiceError('CALL_NOT_FOUND', 'There is no call with this call_id.');
  return found;
}

export function callResponse(call: ShownStatus): CallResponse {
  const status = responseStatus(call.status);
  return { success: true, call_id: call._id, status, message: statusMessage(call, status) };
}

function statusMessage(call: ShownStatus, status: CallResponseStatus): string {
  if (status === 'IDLE' && call.waitingFor === 'dial_slot') return 'The call is waiting for a dial slot.';
  return MESSAGES[status];
}

/** Converts a call's status to one that /outbound_call returns: it shows CANCELLED as FAILED. */
function responseStatus(status: CallStatus): CallResponseStatus {
  return status === 'CANCELLED' ? 'FAILED' : status;
}
