import { condition } from '@temporalio/workflow';
import { isFinal } from '../src/kernel/call-state.js';
import type { CallRun } from './call-run.js';
import { applyCarrierRecord } from './ending.js';
import { isEnding } from './is-ending.js';

/** Added to the ring timeout for our timer, which is only a fallback: the carrier enforces the ring timeout. */
const CARRIER_MARGIN_MS = 10_000;

/** Timeout for the first media stream or callback of an inbound call, unless its input has another one. */
const INBOUND_STREAM_MS = 30_000;

/** Waits until the call is answered, has ended or is ending. */
export async function waitForAnswer(call: CallRun): Promise<void> {
  const { state } = call;
  if (isFinal(state)) return;
  const isSettled = () => call.state.answeredAt !== undefined || isEnding(call);
  if (call.input.direction === 'inbound') return waitForStream(call, isSettled);
  const ringMs = call.queuedMs + call.input.ringTimeoutSeconds * 1_000 + CARRIER_MARGIN_MS;
  if (await condition(isSettled, ringMs)) return;
  call.apply({ type: 'hang_up_requested', cause: 'no_answer', now: Date.now() });
}

async function waitForStream(call: CallRun, isSettled: () => boolean): Promise<void> {
  if (await condition(isSettled, call.input.streamWithinMs ?? INBOUND_STREAM_MS)) return;
  const record = await applyCarrierRecord(call);
  if (call.state.carrierEnd !== undefined || isFinal(call.state)) return;
  if (record === undefined) return call.apply({ type: 'carrier_lost', now: Date.now() });
  // The carrier still has the call, but no media stream reached us, so the caller has no audio.
  const now = Date.now();
  call.apply({ type: 'media_ended', end: { reason: 'media_failed', at: now, agentAudioPlayed: false }, now });
  call.apply({ type: 'hang_up_requested', cause: 'media_failed', now });
}
