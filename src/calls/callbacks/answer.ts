import type { Config } from '../../platform/config/config.js';
import type { CallQueries } from '../call-queries.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';
import { within } from '../../platform/http/deadline.js';
import type { SignedRequests } from '../../platform/http/signed-requests.js';
import { apologyTwiml, hangUpTwiml, sendTwiml, streamTwiml } from '../../telephony/twilio/twiml.js';
import { CALLBACK_ANSWER_WITHIN_MS, calledRequest, verifiedCallback, type Callback } from './callback.js';

export interface TwimlDeps {
  config: Config;
  signedRequests: SignedRequests;
  requests: CallRequests;
  queries: CallQueries;
  bindings: CarrierBindings;
  logger: Logger;
}

/**
 * POST /carrier/calls/{call_id}/twiml: the gate every answered outbound call goes through. Only the one carrier call that
 * is bound to a call of ours gets to speak; any other is hung up before it says a word.
 */
export function createAnswerOutboundCall(deps: TwimlDeps) {
  async function isWanted(callId: string, callback: Callback): Promise<boolean> {
    const request = await calledRequest(deps.requests, callId, callback.mode);
    if (request?.direction !== 'outbound' || callback.carrierSid === '') return false;
    if (await deps.queries.isFinal(callId)) return false;
    const binding = await deps.bindings.bind(callId, callback.carrierSid);
    return binding.closed !== true && binding.carrierSid === callback.carrierSid;
  }

  return async function answer(ctx: ApiContext, callId: string): Promise<void> {
    const callback = await verifiedCallback(ctx, deps);
    let twiml: string;
    try {
      const wanted = await within(ctx.state.arrivedAt + CALLBACK_ANSWER_WITHIN_MS, isWanted(callId, callback));
      twiml = wanted ? streamTwiml(deps.config, callId) : hangUpTwiml();
      if (!wanted) deps.logger.warn({ callId }, 'a carrier call that is not wanted was hung up');
    } catch (error) {
      deps.logger.error(
        { callId, requestId: ctx.state.requestId, err: error },
        'an answered call could not be checked',
      );
      twiml = apologyTwiml();
    }
    sendTwiml(ctx, twiml);
  };
}
