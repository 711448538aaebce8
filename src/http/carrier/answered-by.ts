import type { Config } from '../../config.js';
import type { CallRequests } from '../../store/call-requests.js';
import type { CarrierBindings } from '../../store/carrier-bindings.js';
import type { ApiContext } from '../context.js';
import { within } from '../deadline.js';
import { single } from '../middleware/form.js';
import type { SignedRequests } from '../middleware/signed-requests.js';
import { CALLBACK_ANSWER_WITHIN_MS, calledRequest, verifiedCallback, type Callback } from './callback.js';
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

  return async function noteAnsweredBy(ctx: ApiContext, callId: string): Promise<void> {
    const callback = await verifiedCallback(ctx, deps);
    await within(ctx.state.arrivedAt + CALLBACK_ANSWER_WITHIN_MS, note(callId, callback));
    ctx.status = 200;
    ctx.type = 'text/plain';
    ctx.body = '';
  };
}
