import { patched, workflowInfo } from '@temporalio/workflow';
import type { ReservationResult } from '../src/kernel/call-signals.js';
import type { Activities } from '../activities/create-activities.js';
import { runRecordedStep, reserveWithin } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { setFinalSearchAttributes } from './visibility.js';

/** Maximum time that the reservation may take within the workflow task. */
const RESERVATION_MS = 1_000;

/**
 * Takes the concurrency slot and the first hold, and writes the first read model. If this takes too long, the call is
 * not dialed, and the client receives 503. In that case the API writes a tombstone in place of the read model.
 * Whichever of the two is written first decides whether the call is dialed.
 */
export async function reserve(call: CallRun): Promise<ReservationResult> {
  const result = await reserveInTime(call);
  // A workflow update waits for this result and returns it to the client.
  call.reservation = result;
  return result;
}

async function reserveInTime(call: CallRun): Promise<ReservationResult> {
  const { callId, accountId, mode, maxDurationSeconds, answerWithinMs, windows, decideBy, ledgerEpoch } = call.input;
  const msLeft = () => answerWithinMs - (Date.now() - workflowInfo().startTime.getTime());
  const step = {
    change: call.nextChange(),
    callId,
    accountId,
    mode,
    maxDurationSeconds,
    ...(windows === undefined ? {} : { windows }),
    ...(decideBy === undefined ? {} : { decideBy }),
    ...(ledgerEpoch === undefined ? {} : { ledgerEpoch }),
  };
  // Call this only when needed, because `patched` adds a marker to the history. Most calls are decided in time.
  const isDecidedByRecord = () => decideBy !== undefined && patched('reservation-decided-by-record');
  if (msLeft() <= 0) return isDecidedByRecord() ? conclude(call, step) : { outcome: 'expired' };
  try {
    const answer = await reserveWithin(Math.min(RESERVATION_MS, msLeft()))(step);
    if (answer.outcome === 'refused') return answer.refusal;
    if (answer.outcome === 'expired') return answer;
    call.heldSeconds = answer.heldSeconds;
    return { outcome: msLeft() > 0 || isDecidedByRecord() ? 'granted' : 'expired' };
  } catch {
    // The failed attempt may have held money. The workflow releases it with `abandon` when the result is `expired`.
    return isDecidedByRecord() ? conclude(call, step) : { outcome: 'expired' };
  }
}

async function conclude(
  call: CallRun,
  step: Parameters<Activities['concludeReservation']>[0],
): Promise<ReservationResult> {
  const decided = await runRecordedStep('concludeReservation', step);
  if (decided.outcome === 'granted') call.heldSeconds = decided.heldSeconds;
  return { outcome: decided.outcome };
}

/** Releases everything a reservation may have taken, even by attempts still in progress. */
export async function abandon(call: CallRun, reservation: ReservationResult): Promise<void> {
  const { callId, accountId, mode } = call.input;
  const expired = reservation.outcome === 'expired';
  call.describe();
  setFinalSearchAttributes('FAILED', expired ? 'expired' : undefined);
  await runRecordedStep('abandonCall', { callId, accountId, mode, expired });
}
