import {
  isTransferred,
  type CallOutcome,
  type CallState,
  type CarrierEnd,
  type EndReason,
} from '../kernel/call-state.js';

type Ending = Pick<CallOutcome, 'status' | 'endReason'>;

/**
 * A call whose audio fails later than this after the answer is billed even if the agent was never heard, because a
 * customer can cause such a failure: with a tool that the provider rejects, or an agent that says nothing.
 */
const WAIVED_WITHIN_MS = 30_000;

/** Decides the outcome of a call whose end the carrier has reported. */
export function outcomeOf(state: CallState, end: CarrierEnd): CallOutcome {
  const ending = isGivenUp(state)
    ? GIVEN_UP
    : end.status === 'completed'
      ? endingOfAnswered(state, end)
      : endingOfUnanswered(state, end);
  // Carriers report whole seconds, so the reported end may be earlier than the dial.
  const endedAt = Math.max(end.at, state.dialedAt ?? end.at);
  if (ending.status !== 'COMPLETED') return { ...ending, endedAt, billableSeconds: 0, estimated: false };
  return {
    ...ending,
    endedAt,
    billableSeconds: end.durationSeconds ?? secondsBetween(state.answeredAt, end.at),
    estimated: end.durationSeconds === undefined,
  };
}

/** Decides the outcome of a call whose end the carrier never reports. Bills what our facts prove, as an estimate. */
export function outcomeWithoutCarrier(state: CallState, now: number): CallOutcome {
  const endedAt = isTransferred(state) ? now : (state.mediaEnd?.at ?? state.givenUpAt ?? now);
  const none = { endedAt, billableSeconds: 0, estimated: false };
  if (isGivenUp(state)) return { ...GIVEN_UP, ...none };
  if (brokenBeforeAgentSpoke(state)) return { status: 'FAILED', endReason: 'media_failed', ...none };
  if (state.answeredAt === undefined && isCancelCause(state.hangUpCause)) {
    return { status: 'CANCELLED', endReason: state.hangUpCause, ...none };
  }
  if (state.answeredAt === undefined || (state.direction === 'inbound' && !wasStreamed(state))) {
    if (state.direction === 'inbound') return { status: 'CANCELLED', endReason: 'caller_hangup', ...none };
    return { status: 'FAILED', endReason: 'carrier_unreachable', ...none };
  }
  return {
    status: 'COMPLETED',
    endReason: reasonOfTalk(state),
    endedAt,
    billableSeconds: secondsBetween(state.answeredAt, endedAt),
    estimated: true,
  };
}

function endingOfAnswered(state: CallState, end: CarrierEnd): Ending {
  if (brokenBeforeAgentSpoke(state, end)) return { status: 'FAILED', endReason: 'media_failed' };
  // We answer inbound calls ourselves. Without a media stream there was no conversation: the caller left while it rang.
  if (state.direction === 'inbound' && !wasStreamed(state)) {
    return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'caller_hangup' };
  }
  // A carrier may report `completed` for a call that we ended while it was still ringing.
  if (state.answeredAt === undefined && state.hangUpCause !== undefined && !end.durationSeconds) {
    return endingOfCanceled(state);
  }
  return { status: 'COMPLETED', endReason: reasonOfTalk(state) };
}

/** Whether the call ever had a media stream. The end of a stream may be reported before its start. */
export function wasStreamed(state: CallState): boolean {
  return state.mediaStartedAt !== undefined || state.mediaEnd !== undefined;
}

/** Whether the audio failed soon after the answer and before the agent was heard: then the customer pays nothing. */
function brokenBeforeAgentSpoke({ mediaEnd, answeredAt, hangUpCause }: CallState, end?: CarrierEnd): boolean {
  if (mediaEnd?.reason !== 'media_failed' || mediaEnd.agentAudioPlayed) return false;
  // We ended the call because no media stream ever started, which a customer cannot cause.
  if (hangUpCause === 'media_failed') return true;
  // The answer may be reported after the end, but the end and the duration together give its time.
  const told = end?.durationSeconds === undefined ? undefined : end.at - end.durationSeconds * 1_000;
  return mediaEnd.at - Math.min(answeredAt ?? Infinity, told ?? Infinity) <= WAIVED_WITHIN_MS;
}

function reasonOfTalk(state: CallState): EndReason {
  // The callee answered just as our ring timeout ended the call, so we ended a conversation by mistake.
  if (state.hangUpCause === 'no_answer') return 'internal_error';
  if (state.hangUpCause !== undefined) return state.hangUpCause;
  const media = state.mediaEnd?.reason;
  if (media !== undefined && media !== 'carrier_stop' && media !== 'transferred') return media;
  if (media === undefined && state.givenUpAt !== undefined) return 'media_failed';
  return state.direction === 'inbound' ? 'caller_hangup' : 'callee_hangup';
}

function endingOfUnanswered(state: CallState, end: CarrierEnd): Ending {
  if (end.status === 'canceled') return endingOfCanceled(state);
  return { status: 'FAILED', endReason: reasonOfSip(end) };
}

function endingOfCanceled(state: CallState): Ending {
  if (state.direction === 'inbound') return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'caller_hangup' };
  // Our ring timeout ended it: the call was not answered.
  if (state.hangUpCause === 'no_answer') return { status: 'FAILED', endReason: 'no_answer' };
  return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'operator_cancel' };
}

/** The client received an error for this call, so it is not billed. */
const GIVEN_UP = { status: 'FAILED', endReason: 'expired' } as const;

function isGivenUp({ hangUpCause }: CallState): boolean {
  return hangUpCause === 'expired';
}

/** Whether a call that is not placed yet was cancelled or given up. */
export function isUnwanted(state: CallState): boolean {
  return isCancelCause(state.hangUpCause) || isGivenUp(state);
}

/** Whether a person or a client requested the end, as opposed to one of our timers. */
export function isCancelCause(cause: EndReason | undefined): cause is 'api_hangup' | 'operator_cancel' {
  return cause === 'api_hangup' || cause === 'operator_cancel';
}

function cancelCause(state: CallState): EndReason | undefined {
  return isCancelCause(state.hangUpCause) ? state.hangUpCause : undefined;
}

function reasonOfSip(end: CarrierEnd): EndReason {
  switch (end.sipCode) {
    case 486:
    case 600:
      return 'busy';
    case 603:
      return 'rejected';
    case 404:
    case 484:
      return 'invalid_number';
    case 487:
      return 'no_answer';
    default:
      if (end.status === 'busy') return 'busy';
      return end.status === 'no-answer' ? 'no_answer' : 'carrier_failed';
  }
}

/** Whole seconds between two times in ms, rounded up as carriers do; 0 without a start. */
function secondsBetween(from: number | undefined, to: number): number {
  return from === undefined ? 0 : Math.max(0, Math.ceil((to - from) / 1_000));
}
