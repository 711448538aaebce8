import { condition } from '@temporalio/workflow';
import { isFinal } from '../src/kernel/call-state.js';
import { durable } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** How long the media server may take to say what it saw after the carrier's `completed`. */
const MEDIA_WAIT_MS = 5_000;

/** Waits for the carrier's last word, each followed by asking for it; in all well under five minutes. */
const CARRIER_WAITS_MS = [15_000, 15_000, 30_000, 30_000, 60_000, 60_000];

/** Brings a call that is ending, or has lost its talk, to its final state. */
export async function awaitEnd(call: CallRun): Promise<void> {
  const carrierSpoke = () => call.state.carrierEnd !== undefined || isFinal(call.state);
  let unknownToCarrier = 0;
  for (const waitMs of CARRIER_WAITS_MS) {
    if (await condition(carrierSpoke, waitMs)) break;
    const record = await askCarrier(call);
    if (carrierSpoke()) break;
    // A record may lag behind its call, so one denial is not believed.
    if (record === undefined && ++unknownToCarrier > 1) break;
    if (record !== undefined) await hangUpAgain(call);
  }
  if (!carrierSpoke()) return call.apply({ type: 'carrier_lost', now: Date.now() });
  await awaitMedia(call);
}

async function awaitMedia(call: CallRun): Promise<void> {
  if (await condition(() => isFinal(call.state), MEDIA_WAIT_MS)) return;
  // Its signals may have been lost while Temporal was away; what it stored is not.
  const { givenUpAt } = call.state;
  const known = givenUpAt === undefined ? {} : { givenUpAt };
  const facts = await durable.readMediaFacts({ callId: call.input.callId, ...known }).catch(() => undefined);
  const now = Date.now();
  if (facts?.startedAt !== undefined) call.apply({ type: 'media_started', at: facts.startedAt, now });
  if (facts?.end !== undefined) call.apply({ type: 'media_ended', end: facts.end, now });
  call.apply({ type: 'media_wait_over', now });
}

/**
 * Asks the carrier for its record of the call and takes it as the events it stands for.
 * @returns the record's status, undefined when there is none to be had
 */
export async function askCarrier(call: CallRun): Promise<string | undefined> {
  const { carrierSid } = call.state;
  if (carrierSid === undefined) return undefined;
  const record = await durable.fetchCarrierCall({ mode: call.input.mode, carrierSid }).catch(() => undefined);
  if (record === undefined || record === null) return undefined;
  const now = Date.now();
  const { status, endedAt, durationSeconds, answeredBy } = record;
  if (status === 'queued' || status === 'ringing') return status;
  if ((status === 'in-progress' || status === 'completed') && call.state.answeredAt === undefined) {
    // A record tells when the call was placed, not when it was answered; its end and duration tell that.
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
  const { carrierSid } = call.state;
  if (carrierSid === undefined) return;
  await durable.hangUpCall({ mode: call.input.mode, carrierSid }).catch(() => undefined);
}
