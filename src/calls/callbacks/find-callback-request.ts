import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import { isOfAccount } from '../../telephony/accounts/account-of-call.js';
import type { CarrierCallRef } from '../../telephony/callbacks.js';
import type { CallFacts } from '../call-facts.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallRequests } from '../call-requests.js';

/**
 * Finds the request of the call that a callback is about. Returns undefined if there is none, or if the call is not one of
 * the carrier account that made the callback: no account must affect the calls of another one, nor that of test calls the
 * live calls.
 */
export async function findCallbackRequest(
  requests: CallRequests,
  callId: string,
  sender: CallbackSender,
): Promise<CallRequestDocument | undefined> {
  if (!CALL_ID_PATTERN.test(callId)) return undefined;
  const request = await requests.find(callId);
  return request !== null && isCallOf(sender, request) ? request : undefined;
}

/** Like {@link findCallbackRequest}, for handlers that need only a few facts of the call. */
export async function findCallbackFacts(
  requests: CallRequests,
  callId: string,
  sender: CallbackSender,
): Promise<CallFacts | undefined> {
  const facts = CALL_ID_PATTERN.test(callId) ? await requests.facts(callId) : undefined;
  return facts !== undefined && isCallOf(sender, facts) ? facts : undefined;
}

/** The carrier account that made a callback. */
type CallbackSender = Pick<CarrierCallRef, 'mode' | 'carrier'>;

function isCallOf({ mode, carrier }: CallbackSender, call: Pick<CallFacts, 'mode' | 'carrierAccountId'>): boolean {
  return call.mode === mode && isOfAccount(call, carrier.account);
}
