import type { Mode } from '../../kernel/ids.js';
import type { Config } from '../../platform/config/config.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { report } from '../../platform/telemetry/measurements.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallInstruction, CallInstructions, CarrierCallRef, EndedStream } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import { lineOf } from '../../telephony/web/leg.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { findCallbackRequest } from './find-callback-request.js';
import { createDecideWithRetries } from './decide-with-retries.js';
import { CANNOT_CONNECT } from './apologies.js';
import { transferInstruction } from './transfer.js';

export interface AfterStreamDeps {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  results: ConversationResults;
  dialGate: DialGate;
  logger: Logger;
}

const HANG_UP: CallInstruction = { kind: 'hang_up' };

/**
 * Handles the carrier's request for instructions after a media stream has ended. Either the conversation is over, or
 * the stream was lost; then the call's workflow decides whether to start a new stream. A repeated request gets the same
 * response.
 */
export function createContinueAfterStream(deps: AfterStreamDeps): CallInstructions['continueAfterStream'] {
  const { gateway, requests, bindings, results, logger } = deps;
  const decideWithRetries = createDecideWithRetries(deps);

  async function next(
    callId: string,
    carrierCall: CarrierCallRef,
    ended: EndedStream,
    deadline: number,
  ): Promise<CallInstruction> {
    const { mode, carrierSid } = carrierCall;
    const request = await findCallbackRequest(requests, callId, carrierCall);
    const binding = request && (await bindings.find(callId));
    if (request === undefined || binding?.carrierSid !== carrierSid) return HANG_UP;
    // A media server that ends a call stores the end or signals it to the workflow, and only then closes the websocket.
    const result = await results.findHead(callId);
    if (result?.endedAt !== undefined) return afterConversation(deps, request, result, ended);
    const after = ended.streamNumber;
    // Media servers record each stream that starts, and each that they will close because they stop. Such streams, and
    // those that never started, do not count against `MAX_RESUMPTIONS`.
    const neverStarted = result === null || (result.resumptions ?? 0) < after;
    const isPlanned = !neverStarted && binding.plannedStream === after;
    const decision = await gateway.reconnect(
      callId,
      {
        carrierSid,
        at: Date.now(),
        ...(result === null ? {} : { startedAt: result.startedAt.getTime() }),
        agentAudioPlayed: result?.agentAudioPlayed ?? false,
        ...(neverStarted ? { neverStarted } : {}),
        ...(isPlanned ? { planned: true } : {}),
      },
      `${carrierSid}:${after}`,
      deadline,
    );
    report('nextStream', {
      mode,
      line: lineOf(carrierSid),
      cause: isPlanned ? 'planned' : 'failure',
      decision: decision.decision,
    });
    logger.warn({ callId, after, neverStarted, ...decision }, 'media stream lost');
    if (decision.decision === 'stream') {
      // Media servers accept only stream numbers that are stored as granted.
      await bindings.grantStream(callId, carrierSid, decision.resumption);
      return { kind: 'stream', callId, streamNumber: decision.resumption };
    }
    return decision.why === 'limit' ? CANNOT_CONNECT : HANG_UP;
  }

  return (callId, carrierCall, ended, context) => {
    const facts = { lastStream: ended.streamNumber, isConversationOver: ended.transferConnected !== undefined };
    return decideWithRetries({ callId, carrierCall, context, ...facts }, (deadline) =>
      next(callId, carrierCall, ended, deadline),
    );
  };
}

/** Returns what follows the conversation: a transfer, if the agent wants one, or the end of the call. */
async function afterConversation(
  deps: AfterStreamDeps,
  request: CallRequestDocument,
  result: Pick<ConversationResultDocument, 'startedAt' | 'transferTo'>,
  ended: EndedStream,
): Promise<CallInstruction> {
  const { _id: callId, mode } = request;
  const rejection = await findTransferRejection(deps, result.transferTo, mode, ended);
  if (rejection !== undefined) {
    deps.logger.error({ callId }, rejection);
    return HANG_UP;
  }
  await recordTransferAnswer(deps, callId, result.transferTo, ended);
  const instruction = transferInstruction(request, result, ended.transferConnected, Date.now()) ?? HANG_UP;
  // The response that the carrier could not use may be the one after the dial. Never dial a number twice.
  return instruction.kind === 'transfer' && ended.isFallback === true ? CANNOT_CONNECT : instruction;
}

/**
 * Marks a transfer as answered. A failure is only logged. Then the transfer counts as unanswered, which is the safe
 * side.
 */
async function recordTransferAnswer(
  { dialGate, logger }: AfterStreamDeps,
  callId: string,
  to: string | undefined,
  { transferConnected }: EndedStream,
): Promise<void> {
  if (to === undefined || transferConnected !== true) return;
  await dialGate.markTransferAnswered(callId, to).catch((error: unknown) => {
    logger.warn({ callId, err: error }, 'answered transfer still counts as an unanswered attempt');
  });
}

/**
 * Returns, as a log message, why a stored transfer may not be dialed. Undefined if it may be, or already was, dialed.
 */
async function findTransferRejection(
  { config, dialGate }: AfterStreamDeps,
  transferTo: string | undefined,
  mode: Mode,
  { transferConnected }: EndedStream,
): Promise<string | undefined> {
  if (transferTo === undefined) return undefined;
  if (await dialGate.isNeverDialed(transferTo)) return 'transfer rejected: the number must never be dialed';
  const hasDialed = transferConnected !== undefined;
  if (hasDialed || mayTransfer(config.calls, mode)) return undefined;
  return 'transfer rejected: live transfers are off';
}
