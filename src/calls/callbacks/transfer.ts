import type { CallInstruction } from '../../telephony/callbacks.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { NOBODY_THERE } from './sorry.js';

/** The carrier counts from the answer of the other side; the call's own limit ends both. */
const MIN_SECONDS = 1;

/**
 * What a carrier does with a call that its agent has put through, once the stream is over; undefined when the agent has
 * not. When the other side of the transfer is gone, the carrier asks again and says whether it ever came.
 * @param connected whether the other side had answered, when the transfer is over
 * @param now ms since the epoch
 */
export function transferInstruction(
  request: CallRequestDocument,
  result: Pick<ConversationResultDocument, 'startedAt' | 'transferTo'>,
  connected: boolean | undefined,
  now: number,
): CallInstruction | undefined {
  if (result.transferTo === undefined) return undefined;
  if (connected !== undefined) return connected ? { kind: 'hang_up' } : NOBODY_THERE;
  const talkedSeconds = Math.floor((now - result.startedAt.getTime()) / 1_000);
  return {
    kind: 'transfer',
    callId: request._id,
    to: result.transferTo,
    // A number of ours: the carrier shows no other.
    callerId: request.direction === 'outbound' ? request.fromPhoneNumber : request.toPhoneNumber,
    timeLimitSeconds: Math.max(MIN_SECONDS, request.maxDurationSeconds - talkedSeconds),
  };
}
