import { patched, workflowInfo } from '@temporalio/workflow';
import type { ReservationAnswer } from '../src/kernel/call-signals.js';
import type { Activities } from '../activities/create-activities.js';
import { recorded, reserveWithin } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { showFinalStatus } from './visibility.js';

/** The longest a workflow task may spend on the first step. */
const RESERVATION_MS = 1_000;

/**
 * Takes the concurrency lease and the first hold and writes the first read model, in time or not at all: a client that
 * is told to try again must be able to trust that nothing is dialed. The API gives up a call of which it hears nothing by
 * writing a tombstone in the place of that first read model, so that whichever came first decides.
 */
export async function reserve(call: CallRun): Promise<ReservationAnswer> {
  const answer = await reserveInTime(call);
  // Set once: the waiting update reports it to the client.
  call.reservation = answer;
  return answer;
}

async function reserveInTime(call: CallRun): Promise<ReservationAnswer> {
  const { callId, accountId, mode, maxDurationSeconds, answerWithinMs, windows, decideBy } = call.input;
  const msLeft = () => answerWithinMs - (Date.now() - workflowInfo().startTime.getTime());
  const step = {
    change: call.nextChange(),
    callId,
    accountId,
    mode,
    maxDurationSeconds,
    ...(windows === undefined ? {} : { windows }),
    ...(decideBy === undefined ? {} : { decideBy }),
  };
  // Asked only where it matters: most calls are decided in time and need no marker.
  const isDecidedByRecord = () => decideBy !== undefined && patched('reservation-decided-by-record');
  if (msLeft() <= 0) return isDecidedByRecord() ? conclude(call, step) : { outcome: 'expired' };
  try {
    const answer = await reserveWithin(Math.min(RESERVATION_MS, msLeft()))(step);
    if (answer.outcome === 'refused') return answer.refusal;
    if (answer.outcome === 'expired') return answer;
    call.heldSeconds = answer.heldSeconds;
    return { outcome: msLeft() > 0 || isDecidedByRecord() ? 'granted' : 'expired' };
  } catch {
    // Whatever went wrong, an attempt may have held money: the caller of this step voids the call.
    return isDecidedByRecord() ? conclude(call, step) : { outcome: 'expired' };
  }
}

async function conclude(
  call: CallRun,
  step: Parameters<Activities['concludeReservation']>[0],
): Promise<ReservationAnswer> {
  const decided = await recorded('concludeReservation', step);
  if (decided.outcome === 'granted') call.heldSeconds = decided.heldSeconds;
  return { outcome: decided.outcome };
}

/** Frees everything a reservation may have taken, attempts that are still on their way included. */
export async function abandon(call: CallRun, reservation: ReservationAnswer): Promise<void> {
  const { callId, accountId, mode } = call.input;
  const expired = reservation.outcome === 'expired';
  call.describe();
  showFinalStatus('FAILED', expired ? 'expired' : undefined);
  await recorded('abandonCall', { callId, accountId, mode, expired });
}
