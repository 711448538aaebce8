import {
  isTransferred,
  type CallOutcome,
  type CallState,
  type CarrierEnd,
  type EndReason,
} from '../kernel/call-state.js';

type Ending = Pick<CallOutcome, 'status' | 'endReason'>;

/**
 * A call whose audio fails later than this after its answer, in milliseconds, is billed even when the agent was never heard:
 * a customer can bring such a failure about, by a tool that the provider refuses or an agent that says nothing.
 */
const WAIVED_WITHIN_MS = 30_000;

/** The final status, its reason and the billable seconds of a call that the carrier says is over. */
export function outcomeOf(state: CallState, end: CarrierEnd): CallOutcome {
  const ending = isGivenUp(state)
    ? GIVEN_UP
    : end.status === 'completed'
      ? endingOfAnswered(state, end)
      : endingOfUnanswered(state, end);
  // Carriers tell whole seconds, which may lie before the dial.
  const endedAt = Math.max(end.at, state.dialedAt ?? end.at);
  if (ending.status !== 'COMPLETED') return { ...ending, endedAt, billableSeconds: 0, estimated: false };
  return {
    ...ending,
    endedAt,
    billableSeconds: end.durationSeconds ?? secondsBetween(state.answeredAt, end.at),
    estimated: end.durationSeconds === undefined,
  };
}

/** The carrier was never heard of again: what our own facts prove is billed, marked as an estimate. */
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
  // An inbound call is answered by us; without a stream nobody was talked to, so the caller left while it rang.
  if (state.direction === 'inbound' && !wasStreamed(state)) {
    return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'caller_hangup' };
  }
  // A carrier may report `completed` for a call we ended while it still rang.
  if (state.answeredAt === undefined && state.hangUpCause !== undefined && !end.durationSeconds) {
    return endingOfCanceled(state);
  }
  return { status: 'COMPLETED', endReason: reasonOfTalk(state) };
}

/** Whether audio ever flowed; a stream's end may be told before its start. */
export function wasStreamed(state: CallState): boolean {
  return state.mediaStartedAt !== undefined || state.mediaEnd !== undefined;
}

/** The audio failed soon after the answer and before the agent was heard: the customer pays nothing. */
function brokenBeforeAgentSpoke({ mediaEnd, answeredAt, hangUpCause }: CallState, end?: CarrierEnd): boolean {
  if (mediaEnd?.reason !== 'media_failed' || mediaEnd.agentAudioPlayed) return false;
  // Our own watch ended it, because no stream ever came: no customer can bring that about.
  if (hangUpCause === 'media_failed') return true;
  // The word of the answer may come after the end, which tells the answer as well.
  const told = end?.durationSeconds === undefined ? undefined : end.at - end.durationSeconds * 1_000;
  return mediaEnd.at - Math.min(answeredAt ?? Infinity, told ?? Infinity) <= WAIVED_WITHIN_MS;
}

function reasonOfTalk(state: CallState): EndReason {
  // Answered in the moment our ring timer ended it: a talk that we broke off by mistake.
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
  // Our ring timer, not a person, ended it: nobody answered.
  if (state.hangUpCause === 'no_answer') return { status: 'FAILED', endReason: 'no_answer' };
  return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'operator_cancel' };
}

/** The client was told that there is no such call: nothing of it is billed. */
const GIVEN_UP = { status: 'FAILED', endReason: 'expired' } as const;

function isGivenUp({ hangUpCause }: CallState): boolean {
  return hangUpCause === 'expired';
}

/** Whether nobody wants a call any more that was not placed yet. */
export function isUnwanted(state: CallState): boolean {
  return isCancelCause(state.hangUpCause) || isGivenUp(state);
}

/** Whether somebody, not a timer of ours, asked for the end. */
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

/** Whole seconds, rounded up as carriers do; 0 when the answer is not known. */
function secondsBetween(from: number | undefined, to: number): number {
  return from === undefined ? 0 : Math.max(0, Math.ceil((to - from) / 1_000));
}
