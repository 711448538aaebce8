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
 * The carrier goes on here when a stream of the call is gone. Either the conversation is over, or the stream was lost and
 * the call's workflow decides whether another one follows. A repeated request gets the same answer.
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
    // A media server that says goodbye has stored the end, or told the workflow of it, before it closes the socket.
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
    // A media server notes each stream that starts; what was refused before that costs the call none of its resumptions.
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
      // Media servers take no number that is not noted.
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

/** The count of unanswered attempts errs on the safe side; the call is to go on all the same. */
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

/** Why a stored transfer is not dialed, for the log; undefined when it is, or was already. */
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
