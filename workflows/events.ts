import { condition, defineQuery, defineSignal, defineUpdate, patched, setHandler } from '@temporalio/workflow';
import { decideReconnect, type ReconnectDecision, type StreamLoss } from '../src/kernel/resumption.js';
import {
  CARRIER_SIGNAL,
  DETAILS_QUERY,
  HANG_UP_SIGNAL,
  MEDIA_SIGNAL,
  RECONNECT_UPDATE,
  RESERVED_UPDATE,
} from '../src/kernel/call-signals.js';
import type {
  CarrierSignal,
  HangUpSignal,
  MediaSignal,
  ReconnectRequest,
  ReservationResult,
} from '../src/kernel/call-signals.js';
import type { CallRun } from './call-run.js';
import { describeCall } from './details.js';

const carrierSignal = defineSignal<[CarrierSignal]>(CARRIER_SIGNAL);
const mediaSignal = defineSignal<[MediaSignal]>(MEDIA_SIGNAL);
const hangUpSignal = defineSignal<[HangUpSignal]>(HANG_UP_SIGNAL);
const reservedUpdate = defineUpdate<ReservationResult>(RESERVED_UPDATE);
const reconnectUpdate = defineUpdate<ReconnectDecision, [ReconnectRequest]>(RECONNECT_UPDATE);
const detailsQuery = defineQuery<string>(DETAILS_QUERY);

/** Registers the handlers that turn signals, updates and queries of the workflow into events of the call. */
export function receiveEvents(call: CallRun): void {
  setHandler(carrierSignal, (signal) => {
    const { carrierSid, at, answeredBy } = signal;
    // Ignore signals about a carrier call that is not bound to this call.
    if (call.state.carrierSid !== undefined && call.state.carrierSid !== carrierSid) return;
    const facts = { carrierSid, now: Date.now(), ...(answeredBy === undefined ? {} : { answeredBy }) };
    if (signal.kind === 'answered') call.apply({ type: 'carrier_answered', at, ...facts });
    else if (signal.status !== undefined) {
      const { status, durationSeconds, sipCode } = signal;
      const end = {
        status,
        at,
        ...(durationSeconds === undefined ? {} : { durationSeconds }),
        ...(sipCode === undefined ? {} : { sipCode }),
      };
      call.apply({ type: 'carrier_ended', end, ...facts });
    }
  });

  setHandler(mediaSignal, (signal) => {
    const now = Date.now();
    if (signal.kind === 'started') {
      call.apply({ type: 'dial_accepted', carrierSid: signal.carrierSid, now });
      call.apply({ type: 'media_started', at: signal.at, now });
      return;
    }
    if (signal.kind === 'stored') {
      call.resultStored = true;
      return;
    }
    if (signal.kind === 'given_up') return giveUp(call, signal, now);
    call.resultStored = signal.resultStored !== false;
    const { at, reason = 'carrier_stop', agentAudioPlayed = false } = signal;
    call.apply({ type: 'media_ended', end: { reason, at, agentAudioPlayed }, now });
  });

  setHandler(reconnectUpdate, (request): ReconnectDecision => {
    const { carrierSid, startedAt } = request;
    const now = Date.now();
    if (call.state.carrierSid !== undefined && call.state.carrierSid !== carrierSid) {
      return { decision: 'hang_up', why: 'over' };
    }
    call.apply({ type: 'dial_accepted', carrierSid, now });
    // A media process that crashed early may not have sent its start signal.
    if (startedAt !== undefined) call.apply({ type: 'media_started', at: startedAt, now });
    const facts = factsOfLoss(request);
    const answer = decideReconnect(call.state, facts.loss);
    call.apply({ type: 'stream_lost', ...facts, now });
    return answer;
  });

  setHandler(hangUpSignal, ({ cause }) => call.apply({ type: 'hang_up_requested', cause, now: Date.now() }));

  setHandler(reservedUpdate, async (): Promise<ReservationResult> => {
    await condition(() => call.reservation !== undefined);
    return call.reservation ?? { outcome: 'expired' };
  });

  setHandler(detailsQuery, () => describeCall(call));
}

/** Runs that workers of earlier releases processed count planned closes as lost streams, and know no evidence. */
function factsOfLoss({ at, agentAudioPlayed, neverStarted, planned }: ReconnectRequest) {
  const isPlanned = planned === true && patched('planned-resumes');
  const loss: StreamLoss = neverStarted ? 'never_started' : isPlanned ? 'planned' : 'lost';
  if (agentAudioPlayed || !patched('free-outages')) return { at, agentAudioPlayed, loss };
  const freed = patched('free-however-ended') ? { freesHoweverEnded: true as const } : {};
  return { at, agentAudioPlayed, loss, provesFault: true as const, ...freed };
}

/** Ends the call because of a failure on our side. Ignores signals about a carrier call that is not bound to this call. */
function giveUp(call: CallRun, { carrierSid, at, after }: MediaSignal, now: number): void {
  if (call.state.carrierSid !== undefined && call.state.carrierSid !== carrierSid) return;
  // A signal that a worker of an earlier release handled ends the call, even if another process continues it.
  const last = after !== undefined && patched('late-give-ups') ? { after } : {};
  call.apply({ type: 'given_up', at, ...last, now });
}
