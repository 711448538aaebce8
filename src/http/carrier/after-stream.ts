import { setTimeout as sleep } from 'node:timers/promises';
import type { CallGateway } from '../../calls/gateway.js';
import type { Config } from '../../config.js';
import type { CallRequests } from '../../store/call-requests.js';
import type { CarrierBindings } from '../../store/carrier-bindings.js';
import type { ConversationResults } from '../../store/conversation-results.js';
import type { Logger } from '../../telemetry/logger.js';
import type { ApiContext } from '../context.js';
import { within } from '../deadline.js';
import { hangUpTwiml, sendTwiml } from '../twiml.js';
import { CALLBACK_ANSWER_WITHIN_MS, calledRequest, verifiedCallback, type Callback } from './callback.js';
import { transferTwiml } from './transfer.js';

/** A media server that closes its socket has stored its result just before, or does so in these moments. */
const RESULT_CHECKS_MS = [0, 300, 700];

export interface AfterStreamDeps {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  logger: Logger;
}

/**
 * POST /carrier/calls/{call_id}/after-stream: the carrier goes on here when the audio socket is gone. Either the
 * conversation is over, or the media server died and this request is the only one to say so.
 */
export function createContinueAfterStream(deps: AfterStreamDeps) {
  const { config, gateway, requests, bindings, results, logger } = deps;

  /** @returns what the carrier is to do instead of hanging up */
  async function reportIfBroken(callId: string, { mode, carrierSid, form }: Callback): Promise<string | undefined> {
    const request = await calledRequest(requests, callId, mode);
    const binding = request && (await bindings.find(callId));
    if (request === undefined || binding?.carrierSid !== carrierSid) return undefined;
    let result = null;
    for (const pauseMs of RESULT_CHECKS_MS) {
      await sleep(pauseMs);
      result = await results.find(callId);
      if (result?.endedAt !== undefined) return transferTwiml(config, request, result, form, Date.now());
    }
    await gateway.signalMedia(
      callId,
      {
        kind: 'ended',
        at: Date.now(),
        carrierSid,
        reason: 'media_failed',
        agentAudioPlayed: result?.agentAudioPlayed ?? false,
      },
      `${callId}:${result?.streamSid ?? 'no-stream'}:ended`,
    );
    return undefined;
  }

  return async function continueAfterStream(ctx: ApiContext, callId: string): Promise<void> {
    const callback = await verifiedCallback(ctx, config);
    let twiml: string | undefined;
    try {
      twiml = await within(ctx.state.arrivedAt + CALLBACK_ANSWER_WITHIN_MS, reportIfBroken(callId, callback));
    } catch (error) {
      // The call ends either way; its workflow reads the stored result when the carrier says so.
      logger.error({ callId, requestId: ctx.state.requestId, err: error }, 'the end of a stream could not be told');
    }
    sendTwiml(ctx, twiml ?? hangUpTwiml());
  };
}
