import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { Config } from '../../platform/config/config.js';
import { carrierIdentifiers } from '../../kernel/carrier-identifiers.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { ApiContext } from '../../platform/http/context.js';
import { single } from '../../platform/http/form.js';
import type { SignedRequests } from '../../platform/http/signed-requests.js';
import { answerCallback, calledRequest, type Callback } from './callback.js';

export interface TransferStatusDeps {
  config: Config;
  signedRequests: SignedRequests;
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  dialGate: DialGate;
}

const ANSWERED: ReadonlySet<string> = new Set(['in-progress', 'completed']);

/**
 * POST /carrier/calls/{call_id}/transfer-status: the number that the call was transferred to has answered, so it is no
 * unanswered attempt any more. What cannot be about a transfer of this call is answered 200 and ignored; when the database
 * cannot be asked it is 503, and the carrier asks again.
 */
export function createNoteTransferStatus(deps: TransferStatusDeps) {
  const { config, requests, bindings, results, dialGate } = deps;

  async function note(callId: string, { mode, form }: Callback): Promise<void> {
    if (!ANSWERED.has(single(form, 'CallStatus') ?? '')) return;
    // CallSid is the other leg's; the call itself is its parent.
    const parentSid = single(form, 'ParentCallSid') ?? '';
    if (!carrierIdentifiers(config.carriers[mode].kind).call.test(parentSid)) return;
    if ((await calledRequest(requests, callId, mode)) === undefined) return;
    if ((await bindings.find(callId))?.carrierSid !== parentSid) return;
    const transferTo = (await results.find(callId))?.transferTo;
    if (transferTo !== undefined) await dialGate.transferAnswered(callId, transferTo);
  }

  return (ctx: ApiContext, callId: string): Promise<void> =>
    answerCallback(ctx, deps, (callback) => note(callId, callback));
}
