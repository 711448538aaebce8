import { CALL_ID_PATTERN, type Mode } from '../../kernel/ids.js';
import type { CallFacts } from '../call-facts.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallRequests } from '../call-requests.js';

/**
 * Finds the request of the call that a callback is about. Returns undefined if there is none, or if the call is not of
 * the callback's mode: the carrier account of test calls must not affect live calls, nor the reverse.
 */
export async function findCallbackRequest(
  requests: CallRequests,
  callId: string,
  mode: Mode,
): Promise<CallRequestDocument | undefined> {
  if (!CALL_ID_PATTERN.test(callId)) return undefined;
  const request = await requests.find(callId);
  return request?.mode === mode ? request : undefined;
}

/** Like {@link findCallbackRequest}, for handlers that need only a few facts of the call. */
export async function findCallbackFacts(
  requests: CallRequests,
  callId: string,
  mode: Mode,
): Promise<CallFacts | undefined> {
  const facts = CALL_ID_PATTERN.test(callId) ? await requests.facts(callId) : undefined;
  return facts?.mode === mode ? facts : undefined;
}
