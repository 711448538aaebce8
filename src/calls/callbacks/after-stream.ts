import type { Mode } from '../../kernel/ids.js';
import type { Config } from '../../platform/config/config.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { MAX_STREAM_NUMBER } from '../../kernel/resumption.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallInstruction, CallInstructions, CarrierCallRef, EndedStream } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { calledRequest } from './called-request.js';
import { createInstructing } from './own-faults.js';
import { CANNOT_CONNECT } from './sorry.js';
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
 * the stream was lost and the call's workflow decides whether a new one follows. A repeated request gets the same
 * response.
 */
export function createContinueAfterStream(deps: AfterStreamDeps): CallInstructions['streamEnded'] {
  const { gateway, requests, bindings, results, logger } = deps;
  const instructed = createInstructing(deps);

  async function next(
    callId: string,
    { mode, carrierSid }: CarrierCallRef,
    ended: EndedStream,
    deadline: number,
  ): Promise<CallInstruction> {
    const request = await calledRequest(requests, callId, mode);
    const binding = request && (await bindings.find(callId));
    if (request === undefined || binding?.carrierSid !== carrierSid) return HANG_UP;
    // A media server that ends a call stores the end, or signals it to the workflow, before it closes the websocket.
    const result = await results.findHead(callId);
    if (result?.endedAt !== undefined) {
      const refusal = await refusalOfTransfer(deps, result.transferTo, mode, ended);
      if (refusal !== undefined) {
        logger.error({ callId }, refusal);
        return HANG_UP;
      }
      await noteTransferAnswer(deps, callId, result.transferTo, ended);
      return transferInstruction(request, result, ended.transferConnected, Date.now()) ?? HANG_UP;
    }
    const after = ended.after <= MAX_STREAM_NUMBER ? ended.after : 0;
    // Media servers record each stream that starts. One that never started does not count against `MAX_RESUMPTIONS`.
    const neverStarted = result === null || (result.resumptions ?? 0) < after;
    const answer = await gateway.reconnect(
      callId,
      {
        carrierSid,
        at: Date.now(),
        ...(result === null ? {} : { startedAt: result.startedAt.getTime() }),
        agentAudioPlayed: result?.agentAudioPlayed ?? false,
        ...(neverStarted ? { neverStarted } : {}),
      },
      `${carrierSid}:${after}`,
      deadline,
    );
    logger.warn({ callId, after, neverStarted, ...answer }, 'a call has lost its stream');
    if (answer.decision === 'stream') {
      const { resumption } = answer;
      // Media servers accept only a granted stream number.
      await bindings.grantStream(callId, carrierSid, resumption);
      return { kind: 'stream', callId, resumption };
    }
    return answer.why === 'limit' ? CANNOT_CONNECT : HANG_UP;
  }

  return (callId, told, ended, terms) =>
    instructed({ callId, told, terms, isTalkOver: ended.transferConnected !== undefined }, (deadline) =>
      next(callId, told, ended, deadline),
    );
}

/** Marks a transfer as answered. A failure is only logged: then the attempt stays counted, which is the safe side. */
async function noteTransferAnswer(
  { dialGate, logger }: AfterStreamDeps,
  callId: string,
  to: string | undefined,
  { transferConnected }: EndedStream,
): Promise<void> {
  if (to === undefined || transferConnected !== true) return;
  await dialGate.transferAnswered(callId, to).catch((error: unknown) => {
    logger.warn({ callId, err: error }, 'an answered transfer stays counted as an unanswered attempt');
  });
}

/** Why a stored transfer may not be dialed, as a log message; undefined if it may, or already was. */
async function refusalOfTransfer(
  { config, dialGate }: AfterStreamDeps,
  transferTo: string | undefined,
  mode: Mode,
  { transferConnected }: EndedStream,
): Promise<string | undefined> {
  if (transferTo === undefined) return undefined;
  if (await dialGate.isNeverDialed(transferTo)) return 'a transfer to a number that is never called was not dialed';
  const hasDialed = transferConnected !== undefined;
  if (hasDialed || mayTransfer(config.calls, mode)) return undefined;
  return 'a transfer was not dialed: live transfers are off';
}
