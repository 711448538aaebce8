import { condition } from '@temporalio/workflow';
import { isFinal, isTransferred } from '../src/kernel/call-state.js';
import type { CallRun } from './call-run.js';
import { askCarrier } from './ending.js';

/** Added to the ring timeout, which the carrier enforces itself: our own timer is only a fallback. */
const CARRIER_MARGIN_MS = 10_000;

/** Timeout for the first media stream or callback of an inbound call. */
const INBOUND_STREAM_MS = 30_000;

/** Waits until the call is answered, has ended or is ending. */
export async function ring(call: CallRun): Promise<void> {
  const { state } = call;
  if (isFinal(state)) return;
  const settled = () => call.state.answeredAt !== undefined || isEnding(call);
  if (call.input.direction === 'inbound') return awaitStream(call, settled);
  const ringMs = call.input.ringTimeoutSeconds * 1_000 + CARRIER_MARGIN_MS;
  if (await condition(settled, ringMs)) return;
  call.apply({ type: 'hang_up_requested', cause: 'no_answer', now: Date.now() });
}

async function awaitStream(call: CallRun, settled: () => boolean): Promise<void> {
  if (await condition(settled, INBOUND_STREAM_MS)) return;
  const record = await askCarrier(call);
  if (call.state.carrierEnd !== undefined || isFinal(call.state)) return;
  if (record === undefined) return call.apply({ type: 'carrier_lost', now: Date.now() });
  // The caller is still connected but has no audio: our media stream failed.
  const now = Date.now();
  call.apply({ type: 'media_ended', end: { reason: 'media_failed', at: now, agentAudioPlayed: false }, now });
  call.apply({ type: 'hang_up_requested', cause: 'media_failed', now });
}

/** Whether the call has ended or can have no (further) conversation. */
export function isEnding(call: CallRun): boolean {
  const { state } = call;
  const streamIsOver = state.mediaEnd !== undefined && !isTransferred(state);
  const isGivenUp = state.givenUpAt !== undefined;
  return (
    isFinal(state) || state.carrierEnd !== undefined || streamIsOver || isGivenUp || state.hangUpCause !== undefined
  );
}
