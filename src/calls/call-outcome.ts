import {
  isTransferred,
  type CallOutcome,
  type CallState,
  type CarrierEnd,
  type EndReason,
} from '../kernel/call-state.js';
import { givenUpAt } from '../kernel/resumption.js';

type Ending = Pick<CallOutcome, 'status' | 'endReason'>;

/**
 * If a call's audio fails later than this after the answer, the call is billed even if the agent was never heard. A
 * customer can cause such a failure with a tool that the provider rejects, or an agent that says nothing.
 */
const WAIVED_WITHIN_MS = 30_000;

/** The carrier asks for instructions as soon as the call is answered. */
const HUNG_UP_AT_ONCE_SECONDS = 2;
/** Carriers report whole seconds, and take a moment to report. */
const REPORTED_IN_TIME_MS = 3_000;

/** Decides the outcome of a call whose end the carrier has reported. */
export function decideOutcome(state: CallState, end: CarrierEnd): CallOutcome {
  const ending = isGivenUp(state)
    ? GIVEN_UP
    : end.status === 'completed'
      ? endingOfCompleted(state, end)
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

/**
 * Decides the outcome of a call whose end the carrier never reported. Bills, as an estimate, the time that we measured.
 */
export function decideOutcomeWithoutCarrier(state: CallState, now: number): CallOutcome {
  const endedAt = isTransferred(state) ? now : (state.mediaEnd?.at ?? givenUpAt(state) ?? now);
  const none = { endedAt, billableSeconds: 0, estimated: false };
  if (isGivenUp(state)) return { ...GIVEN_UP, ...none };
  if (failedBeforeAgentSpoke(state) || wasPreventedByUs(state)) {
    return { status: 'FAILED', endReason: 'media_failed', ...none };
  }
  if (state.answeredAt === undefined && isCancelCause(state.hangUpCause)) {
    return { status: 'CANCELLED', endReason: state.hangUpCause, ...none };
  }
  if (state.answeredAt === undefined || (state.direction === 'inbound' && !wasStreamed(state))) {
    if (state.direction === 'inbound') return { status: 'CANCELLED', endReason: 'caller_hangup', ...none };
    return { status: 'FAILED', endReason: 'carrier_unreachable', ...none };
  }
  return {
    status: 'COMPLETED',
    endReason: endReasonOfConversation(state),
    endedAt,
    billableSeconds: secondsBetween(state.answeredAt, endedAt),
    estimated: true,
  };
}

function endingOfCompleted(state: CallState, end: CarrierEnd): Ending {
  if (failedBeforeAgentSpoke(state, end) || wasPreventedByUs(state, end)) {
    return { status: 'FAILED', endReason: 'media_failed' };
  }
  // We answer inbound calls ourselves. If no media stream started, the caller hung up while the phone rang.
  if (state.direction === 'inbound' && !wasStreamed(state)) {
    return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'caller_hangup' };
  }
  // A carrier may report `completed` for a call that we ended while it was still ringing.
  if (state.answeredAt === undefined && state.hangUpCause !== undefined && !end.durationSeconds) {
    return endingOfCanceled(state);
  }
  return { status: 'COMPLETED', endReason: endReasonOfConversation(state) };
}

/** Whether the call ever had a media stream. The end of a stream may be reported before its start. */
export function wasStreamed(state: CallState): boolean {
  return state.mediaStartedAt !== undefined || state.mediaEnd !== undefined;
}

/** Whether the audio failed soon after the answer and before the agent was heard. Then the customer pays nothing. */
function failedBeforeAgentSpoke(state: CallState, end?: CarrierEnd): boolean {
  const { mediaEnd, hangUpCause } = state;
  if (mediaEnd?.reason !== 'media_failed' || mediaEnd.agentAudioPlayed) return false;
  // We ended the call because no media stream started. A customer cannot cause that.
  if (hangUpCause === 'media_failed') return true;
  return isSoonAfterAnswer(mediaEnd.at, state, end);
}

function isSoonAfterAnswer(at: number, { answeredAt }: CallState, end?: CarrierEnd): boolean {
  // The carrier may report the answer after the end. Then compute the answer time from the end and the duration.
  const computedAnswerAt = end?.durationSeconds === undefined ? undefined : end.at - end.durationSeconds * 1_000;
  return at - Math.min(answeredAt ?? Infinity, computedAnswerAt ?? Infinity) <= WAIVED_WITHIN_MS;
}

/**
 * Whether it is proven that an answered outbound call had no audio because of us, no matter how it ended. Then the
 * customer pays nothing. A missing stream alone proves nothing: the callee may have hung up at once. The legs of browsers
 * are inbound; they do not count, because a browser can drop its own stream.
 */
function wasPreventedByUs(state: CallState, end?: CarrierEnd): boolean {
  const { direction, answeredAt, hangUpCause, mediaEnd, isUninstructed, lostUnheardAt, isFreeHoweverEnded } = state;
  const isAnswered = answeredAt !== undefined || Boolean(end?.durationSeconds);
  const isOurEnd =
    isFreeHoweverEnded ||
    hangUpCause === 'no_answer' ||
    hangUpCause === 'media_failed' ||
    hangUpCause === 'internal_error';
  if (direction !== 'outbound' || !isAnswered || (hangUpCause !== undefined && !isOurEnd)) return false;
  if (!wasStreamed(state)) {
    return lostUnheardAt !== undefined || (isUninstructed === true && !isHungUpAtOnce(state, end));
  }
  // If the call continued in another stream, it is free only if it ended soon without a word of the agent. Otherwise an
  // agent that says nothing, or transfers at once, would talk for free after the loss.
  if (lostUnheardAt === undefined || mediaEnd === undefined) return false;
  if (mediaEnd.agentAudioPlayed || mediaEnd.reason === 'transferred') return false;
  return isSoonAfterAnswer(mediaEnd.at, state, end);
}

/**
 * Whether a callee may have hung up before the carrier could ask us what to do with the answered call: it was short, and
 * we were reachable, because the carrier reported the answer in time.
 */
function isHungUpAtOnce({ answeredAt, answerReportedAt }: CallState, end?: CarrierEnd): boolean {
  if (answeredAt === undefined || answerReportedAt === undefined || end === undefined) return false;
  const seconds = end.durationSeconds ?? secondsBetween(answeredAt, end.at);
  return seconds <= HUNG_UP_AT_ONCE_SECONDS && answerReportedAt - answeredAt <= REPORTED_IN_TIME_MS;
}

function endReasonOfConversation(state: CallState): EndReason {
  // The callee answered just when our ring timeout ended the call, so we hung up on a person by mistake.
  if (state.hangUpCause === 'no_answer') return 'internal_error';
  if (state.hangUpCause !== undefined) return state.hangUpCause;
  const media = state.mediaEnd?.reason;
  // Counts even if a later stream was granted or started, because its end is not known. The process that gave the call up may
  // itself have asked for that stream, and not have got the response.
  if (media !== undefined && media !== 'carrier_stop' && media !== 'transferred') return media;
  if (media === undefined && state.givenUpAt !== undefined) return 'media_failed';
  return state.direction === 'inbound' ? 'caller_hangup' : 'callee_hangup';
}

function endingOfUnanswered(state: CallState, end: CarrierEnd): Ending {
  if (end.status === 'canceled') return endingOfCanceled(state);
  return { status: 'FAILED', endReason: endReasonOfSipCode(end) };
}

function endingOfCanceled(state: CallState): Ending {
  if (state.direction === 'inbound') return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'caller_hangup' };
  // Our ring timeout ended the call before anyone answered.
  if (state.hangUpCause === 'no_answer') return { status: 'FAILED', endReason: 'no_answer' };
  return { status: 'CANCELLED', endReason: cancelCause(state) ?? 'operator_cancel' };
}

/** The client received an error for this call, so it is not billed. */
const GIVEN_UP = { status: 'FAILED', endReason: 'expired' } as const;

function isGivenUp({ hangUpCause }: CallState): boolean {
  return hangUpCause === 'expired';
}

/** Whether a call that is not placed yet was canceled or given up. */
export function isUnwanted(state: CallState): boolean {
  return isCancelCause(state.hangUpCause) || isGivenUp(state);
}

/** Whether a person or an API client requested the end. Otherwise one of our timers did. */
export function isCancelCause(cause: EndReason | undefined): cause is 'api_hangup' | 'operator_cancel' {
  return cause === 'api_hangup' || cause === 'operator_cancel';
}

function cancelCause(state: CallState): EndReason | undefined {
  return isCancelCause(state.hangUpCause) ? state.hangUpCause : undefined;
}

function endReasonOfSipCode(end: CarrierEnd): EndReason {
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

/** Whole seconds between two times in ms, rounded up as carriers do. Returns 0 if `from` is undefined. */
function secondsBetween(from: number | undefined, to: number): number {
  return from === undefined ? 0 : Math.max(0, Math.ceil((to - from) / 1_000));
}
