import type { AnsweredBy, CallOutcome, CallState } from '../kernel/call-state.js';
import { isFinal } from '../kernel/call-state.js';
import type { CallEffect, CallEvent } from './call-events.js';
import { isCancelCause, decideOutcome, decideOutcomeWithoutCarrier } from './call-outcome.js';
import { decideReconnect } from '../kernel/resumption.js';

export interface Reduction {
  state: CallState;
  effects: CallEffect[];
}

/**
 * The only place where a call's state changes. A pure function: it adds the facts of the event to the state and derives
 * status and effects from all facts. So duplicate events change nothing, and the order of events does not matter. A
 * final state never changes.
 */
export function reduceCall(state: CallState, event: CallEvent): Reduction {
  if (isFinal(state)) return { state, effects: [] };
  const known = addFacts(state, event);
  const outcome = decide(known, event);
  if (outcome) return { state: { ...known, status: outcome.status, outcome }, effects: [{ type: 'finish' }] };
  const status = liveStatus(known, event);
  const effects: CallEffect[] = [];
  if (status !== state.status) effects.push({ type: 'project' });
  if (mustHangUp(state, known)) effects.push({ type: 'hang_up' });
  return { state: { ...known, status }, effects };
}

function addFacts(state: CallState, event: CallEvent): CallState {
  switch (event.type) {
    case 'reserved':
      return state.dialedAt === undefined ? { ...state, dialedAt: event.now } : state;
    case 'dial_accepted':
      return withSid(state, event.carrierSid);
    case 'carrier_answered':
      return withAnsweredBy(
        {
          ...withAnswer(withSid(state, event.carrierSid), event.at, event.now, 'carrier'),
          answerReportedAt: state.answerReportedAt ?? event.now,
        },
        event.answeredBy,
      );
    case 'carrier_ended':
      return withAnsweredBy(
        { ...withSid(state, event.carrierSid), carrierEnd: state.carrierEnd ?? event.end },
        event.answeredBy,
      );
    case 'media_started':
      return withAnswer({ ...state, mediaStartedAt: state.mediaStartedAt ?? event.at }, event.at, event.now, 'stream');
    case 'media_ended':
      return { ...state, mediaEnd: state.mediaEnd ?? event.end };
    case 'stream_lost':
      return withLostStream(state, event);
    case 'found_uninstructed':
      return { ...state, isUninstructed: true, ...freed(event) };
    case 'given_up':
      return withGivenUp(state, event);
    case 'hang_up_requested':
      return { ...state, hangUpCause: state.hangUpCause ?? event.cause };
    case 'dial_failed':
    case 'media_wait_over':
    case 'carrier_lost':
      return state;
  }
}

function withSid(state: CallState, carrierSid: string): CallState {
  return state.carrierSid === undefined ? { ...state, carrierSid } : state;
}

/**
 * The carrier's answer time overrides the stream's start time, whichever event comes first. The carrier's clock may be
 * wrong, so the time is limited to the time between the dial and now.
 */
function withAnswer(state: CallState, at: number, now: number, source: 'carrier' | 'stream'): CallState {
  if (state.answerSource === 'carrier' || (state.answerSource === 'stream' && source === 'stream')) return state;
  return { ...state, answeredAt: Math.max(state.dialedAt ?? at, Math.min(at, now)), answerSource: source };
}

const freed = ({ freesHoweverEnded }: { freesHoweverEnded?: true }) =>
  freesHoweverEnded ? { isFreeHoweverEnded: freesHoweverEnded } : {};

/** Grants one more media stream. If the limit is reached, ends the audio as a failure on our side. */
function withLostStream(state: CallState, lost: Extract<CallEvent, { type: 'stream_lost' }>): CallState {
  const { at, agentAudioPlayed, loss, provesFault = false } = lost;
  const answer = decideReconnect(state, loss);
  if (answer.decision === 'stream') {
    const lostUnheardAt = state.lostUnheardAt ?? at;
    const evidence = provesFault && !agentAudioPlayed ? { lostUnheardAt, ...freed(lost) } : {};
    const granted = { ...state, ...evidence, resumptions: answer.resumption };
    if (loss === 'never_started') return { ...granted, refusedStreams: (state.refusedStreams ?? 0) + 1 };
    return loss === 'planned' ? { ...granted, plannedResumptions: (state.plannedResumptions ?? 0) + 1 } : granted;
  }
  if (answer.why === 'over') return state;
  return { ...state, mediaEnd: { reason: 'media_failed', at, agentAudioPlayed } };
}

/** The report about the latest stream applies. */
function withGivenUp(state: CallState, { at, after }: Extract<CallEvent, { type: 'given_up' }>): CallState {
  const { givenUpAfter = Infinity } = state;
  if (state.givenUpAt !== undefined && (after ?? Infinity) <= givenUpAfter) return state;
  const { givenUpAfter: _, ...others } = state;
  return { ...others, givenUpAt: at, ...(after === undefined ? {} : { givenUpAfter: after }) };
}

function withAnsweredBy(state: CallState, answeredBy: AnsweredBy | undefined): CallState {
  return answeredBy === undefined || state.answeredBy !== undefined ? state : { ...state, answeredBy };
}

function liveStatus(state: CallState, event: CallEvent): CallState['status'] {
  if (state.answeredAt !== undefined) return 'IN_PROGRESS';
  return event.type === 'reserved' ? 'RINGING' : state.status;
}

/**
 * Whether this event requires a hang-up: the end was requested, the carrier has the call, and the call has not ended.
 */
function mustHangUp(before: CallState, after: CallState): boolean {
  const wanted = (s: CallState) =>
    s.hangUpCause !== undefined && s.carrierSid !== undefined && s.carrierEnd === undefined;
  return wanted(after) && !wanted(before);
}

function decide(state: CallState, event: CallEvent): CallOutcome | undefined {
  switch (event.type) {
    case 'dial_failed':
      // If the reservation expired, the call ends as expired. If the call was canceled before the dial failed, it ends
      // as CANCELLED.
      if (state.hangUpCause === 'expired') return unanswered('expired', event.now);
      return isCancelCause(state.hangUpCause)
        ? { ...unanswered(state.hangUpCause, event.now), status: 'CANCELLED' }
        : unanswered(event.endReason, event.now);
    case 'carrier_lost':
      return decideOutcomeWithoutCarrier(state, event.now);
    case 'hang_up_requested':
      if (state.status !== 'IDLE') return undefined;
      if (event.cause === 'expired') return unanswered('expired', event.now);
      return { ...unanswered(event.cause, event.now), status: 'CANCELLED' };
    case 'media_wait_over':
      return state.carrierEnd && decideOutcome(state, state.carrierEnd);
    default:
      // If the carrier reports `completed`, wait for the media server's more precise reason. Other statuses of the
      // carrier say enough.
      if (state.carrierEnd === undefined) return undefined;
      if (state.carrierEnd.status === 'completed' && state.mediaEnd === undefined) return undefined;
      return decideOutcome(state, state.carrierEnd);
  }
}

function unanswered(endReason: CallOutcome['endReason'], now: number): CallOutcome {
  return { status: 'FAILED', endReason, endedAt: now, billableSeconds: 0, estimated: false };
}
