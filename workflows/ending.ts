import { condition, patched } from '@temporalio/workflow';
import { isFinal } from '../src/kernel/call-state.js';
import { carrierActivities } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { isEnding } from './is-ending.js';

/** Timeout for the media server's report after the carrier's `completed`. */
const MEDIA_WAIT_MS = 5_000;

/** Waits for the carrier's final status, 3.5 minutes in all. After each wait the workflow fetches the status. */
const CARRIER_WAITS_MS = [15_000, 15_000, 30_000, 30_000, 60_000, 60_000];

/**
 * Waits for the carrier's and the media server's reports of the end, which bring the call to its final state.
 * @returns `continues` if the call was given up and another process continues it in a new stream
 */
export async function waitForEnd(call: CallRun): Promise<'ended' | 'continues'> {
  const hasCarrierEnd = () => call.state.carrierEnd !== undefined || isFinal(call.state);
  // Only a give-up can be overruled: the other causes of an end stay.
  const continues = () => !isEnding(call);
  let timesUnknown = 0;
  for (const waitMs of CARRIER_WAITS_MS) {
    if (await condition(() => hasCarrierEnd() || continues(), waitMs)) break;
    const record = await applyCarrierRecord(call);
    if (hasCarrierEnd() || continues()) break;
    // The carrier's record may lag behind the call, so a single "not found" proves nothing.
    if (record === undefined && ++timesUnknown > 1) break;
    if (record !== undefined) await hangUpAgain(call);
  }
  if (continues()) return 'continues';
  if (hasCarrierEnd()) await waitForMedia(call);
  else call.apply({ type: 'carrier_lost', now: Date.now() });
  return 'ended';
}

async function waitForMedia(call: CallRun): Promise<void> {
  if (await condition(() => isFinal(call.state), MEDIA_WAIT_MS)) return;
  // The media server's signals may have been lost while Temporal was unavailable, so read its stored result.
  const { givenUpAt: at, givenUpAfter: after } = call.state;
  const known = {
    ...(at === undefined ? {} : { givenUpAt: at }),
    ...(after === undefined ? {} : { givenUpAfter: after }),
  };
  const facts = await carrierActivities.readMediaFacts({ callId: call.input.callId, ...known }).catch(() => undefined);
  const now = Date.now();
  if (facts?.startedAt !== undefined) call.apply({ type: 'media_started', at: facts.startedAt, now });
  if (facts?.end !== undefined) call.apply({ type: 'media_ended', end: facts.end, now });
  if (facts?.isUninstructed && patched('free-outages')) {
    const freed = patched('free-however-ended') ? { freesHoweverEnded: true as const } : {};
    call.apply({ type: 'found_uninstructed', ...freed, now });
  }
  call.apply({ type: 'media_wait_over', now });
}

/**
 * Fetches the carrier's record of the call and applies it as the corresponding events.
 * @returns the record's status; undefined if there is no record or the request failed
 */
export async function applyCarrierRecord(call: CallRun): Promise<string | undefined> {
  const placed = call.placedCall();
  if (placed === undefined) return undefined;
  const { carrierSid } = placed;
  const record = await carrierActivities.fetchCarrierCall(placed).catch(() => undefined);
  if (record === undefined || record === null) return undefined;
  const now = Date.now();
  const { status, endedAt, durationSeconds, answeredBy } = record;
  if (status === 'queued' || status === 'ringing') return status;
  if ((status === 'in-progress' || status === 'completed') && call.state.answeredAt === undefined) {
    // The record has no answer time, so compute it from the end and the duration.
    const at = endedAt === undefined ? now : endedAt - (durationSeconds ?? 0) * 1_000;
    const by = answeredBy === undefined ? {} : { answeredBy };
    call.apply({ type: 'carrier_answered', carrierSid, at, now, ...by });
  }
  if (status !== 'in-progress') {
    const end = { status, at: endedAt ?? now, ...(durationSeconds === undefined ? {} : { durationSeconds }) };
    call.apply({ type: 'carrier_ended', carrierSid, end, now });
  }
  return status;
}

async function hangUpAgain(call: CallRun): Promise<void> {
  const placed = call.placedCall();
  if (placed !== undefined) await carrierActivities.hangUpCall(placed).catch(() => undefined);
}
