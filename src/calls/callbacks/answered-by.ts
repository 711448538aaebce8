import type { Config } from '../../platform/config/config.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { ApiContext } from '../../platform/http/context.js';
import { single } from '../../platform/http/form.js';
import type { SignedRequests } from '../../platform/http/signed-requests.js';
import { answerCallback, calledRequest, type Callback } from './callback.js';
import { answeredByOf } from './status.js';

export interface AnsweredByDeps {
  config: Config;
  signedRequests: SignedRequests;
  requests: CallRequests;
  bindings: CarrierBindings;
}

/**
 * POST /carrier/calls/{call_id}/amd: the carrier has found out who answered. Left in the database for whichever media
 * process carries the call; the call's workflow hears of it with the conversation's result.
 */
export function createNoteAnsweredBy(deps: AnsweredByDeps) {
  const { requests, bindings } = deps;

  async function note(callId: string, { mode, carrierSid, form }: Callback): Promise<void> {
    const { answeredBy } = answeredByOf(single(form, 'AnsweredBy'));
    if (answeredBy === undefined || (await calledRequest(requests, callId, mode)) === undefined) return;
    await bindings.noteAnsweredBy(callId, carrierSid, answeredBy);
  }

  return (ctx: ApiContext, callId: string): Promise<void> =>
    answerCallback(ctx, deps, (callback) => note(callId, callback));
}
