import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CallGateway } from '../gateway.js';
import type { Config } from '../../platform/config/config.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { MAX_RESUMPTIONS } from '../../kernel/resumption.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';
import { within } from '../../platform/http/deadline.js';
import type { SignedRequests } from '../../platform/http/signed-requests.js';
import { apologyTwiml, hangUpTwiml, sendTwiml, streamTwiml } from '../../telephony/twilio/twiml.js';
import { CALLBACK_ANSWER_WITHIN_MS, calledRequest, verifiedCallback, type Callback } from './callback.js';
import { single } from '../../platform/http/form.js';
import { transferTwiml, wasConnected } from './transfer.js';

export interface AfterStreamDeps {
  config: Config;
  signedRequests: SignedRequests;
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  dialGate: DialGate;
  logger: Logger;
}

/**
 * POST /carrier/calls/{call_id}/after-stream?after={n}: the carrier goes on here when its n-th stream of the call is gone
 * (the first is 0). Either the conversation is over, or the stream was lost and the call's workflow decides whether
 * another one follows. A repeated request gets the same answer.
 */
export function createContinueAfterStream(deps: AfterStreamDeps) {
  const { config, gateway, requests, bindings, results, dialGate, logger } = deps;

  /** The count of unanswered attempts errs on the safe side; the call is to go on all the same. */
  async function noteTransferAnswer(callId: string, to: string | undefined, status: string | undefined): Promise<void> {
    if (to === undefined || status === undefined || !wasConnected(status)) return;
    await dialGate.transferAnswered(callId, to).catch((error: unknown) => {
      logger.warn({ callId, err: error }, 'an answered transfer stays counted as an unanswered attempt');
    });
  }

  async function nextTwiml(callId: string, callback: Callback, after: number, deadline: number): Promise<string> {
    const { mode, carrierSid } = callback;
    const request = await calledRequest(requests, callId, mode);
    const binding = request && (await bindings.find(callId));
    if (request === undefined || binding?.carrierSid !== carrierSid) return hangUpTwiml();
    // A media server that says goodbye has stored the end, or told the workflow of it, before it closes the socket.
    const result = await results.find(callId);
    if (result?.endedAt !== undefined) {
      const refusal = await refusalOfTransfer(deps, result.transferTo, callback);
      if (refusal !== undefined) {
        logger.error({ callId }, refusal);
        return hangUpTwiml();
      }
      await noteTransferAnswer(callId, result.transferTo, single(callback.form, 'DialCallStatus'));
      return transferTwiml(config, request, result, callback.form, Date.now()) ?? hangUpTwiml();
    }
    const answer = await gateway.reconnect(
      callId,
      {
        carrierSid,
        at: Date.now(),
        ...(result === null ? {} : { startedAt: result.startedAt.getTime() }),
        agentAudioPlayed: result?.agentAudioPlayed ?? false,
      },
      `${carrierSid}:${after}`,
      deadline,
    );
    logger.warn({ callId, after, ...answer }, 'a call has lost its stream');
    if (answer.decision === 'stream') {
      // Media servers take no number that is not noted.
      await bindings.grantStream(callId, carrierSid, answer.resumption);
      return streamTwiml(config, callId, answer.resumption);
    }
    return answer.why === 'limit' ? apologyTwiml() : hangUpTwiml();
  }

  return async function continueAfterStream(ctx: ApiContext, callId: string): Promise<void> {
    const callback = await verifiedCallback(ctx, deps);
    const deadline = ctx.state.arrivedAt + CALLBACK_ANSWER_WITHIN_MS;
    let twiml: string;
    try {
      twiml = await within(deadline, nextTwiml(callId, callback, streamNumber(ctx.query['after']), deadline));
    } catch (error) {
      logger.error({ callId, requestId: ctx.state.requestId, err: error }, 'a call that lost its stream cannot go on');
      twiml = apologyTwiml();
    }
    sendTwiml(ctx, twiml);
  };
}

/** Why a stored transfer is not dialed, for the log; undefined when it is, or was already. */
async function refusalOfTransfer(
  { config, dialGate }: AfterStreamDeps,
  transferTo: string | undefined,
  { mode, form }: Callback,
): Promise<string | undefined> {
  if (transferTo === undefined) return undefined;
  if (await dialGate.isNeverDialed(transferTo)) return 'a transfer to a number that is never called was not dialed';
  const hasDialed = single(form, 'DialCallStatus') !== undefined;
  if (hasDialed || mayTransfer(config.calls, mode)) return undefined;
  return 'a transfer was not dialed: live transfers are off';
}

/** Anything but the number of a resumption that we may have written into the URL stands for the first stream. */
function streamNumber(text: string | string[] | undefined): number {
  const number = typeof text === 'string' && /^\d$/.test(text) ? Number(text) : 0;
  return number <= MAX_RESUMPTIONS ? number : 0;
}
