import type { CallInstruction } from '../../telephony/callbacks.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { TRANSFER_UNANSWERED } from './apologies.js';

/**
 * Shortest time limit of a transfer. The carrier counts it from the target's answer. When the call reaches its own
 * limit, both legs end.
 */
const MIN_SECONDS = 1;

/**
 * Returns the instruction for the carrier after the media stream of a call that the agent transferred; undefined if the
 * agent transferred nothing. When the transfer ends, the carrier asks for instructions again and reports whether the
 * target had answered.
 * @param connected whether the target had answered; undefined if the transfer has not been dialed yet
 * @param now ms since the epoch
 */
export function transferInstruction(
  request: CallRequestDocument,
  result: Pick<ConversationResultDocument, 'startedAt' | 'transferTo'>,
  connected: boolean | undefined,
  now: number,
): CallInstruction | undefined {
  if (result.transferTo === undefined) return undefined;
  if (connected !== undefined) return connected ? { kind: 'hang_up' } : TRANSFER_UNANSWERED;
  const talkedSeconds = Math.floor((now - result.startedAt.getTime()) / 1_000);
  return {
    kind: 'transfer',
    callId: request._id,
    to: result.transferTo,
    // The caller id is the call's number on our side, because the carrier allows no other.
    callerId: request.direction === 'outbound' ? request.fromPhoneNumber : request.toPhoneNumber,
    timeLimitSeconds: Math.max(MIN_SECONDS, request.maxDurationSeconds - talkedSeconds),
  };
}
