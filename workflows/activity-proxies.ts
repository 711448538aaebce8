import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/create-activities.js';

/** Activities that update the ledger and the read model. They are quick and idempotent, and retried without limit. */
type RecordedStep = 'abandonCall' | 'concludeReservation' | 'projectCall' | 'settleCall' | 'collectResult';

const local = proxyLocalActivities<Pick<Activities, RecordedStep>>({
  scheduleToCloseTimeout: '2s',
  retry: { maximumAttempts: 1 },
});

const unlimited = proxyActivities<Pick<Activities, RecordedStep>>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/**
 * Runs a step as a local activity, which adds one event to the history. If it fails or takes longer than 2 s, runs it
 * as a regular activity with unlimited retries, because a hanging local activity would block the call's timers and
 * signals.
 */
export async function runRecordedStep<Step extends RecordedStep>(
  step: Step,
  input: Parameters<Activities[Step]>[0],
): Promise<Awaited<ReturnType<Activities[Step]>>> {
  type Run = (input: Parameters<Activities[Step]>[0]) => Promise<Awaited<ReturnType<Activities[Step]>>>;
  try {
    return await (local[step] as Run)(input);
  } catch {
    return await (unlimited[step] as Run)(input);
  }
}

/** The reservation as a local activity without retries. If it fails or times out, the call may be abandoned. */
export function reserveWithin(timeoutMs: number): Activities['reserveCall'] {
  return proxyLocalActivities<Pick<Activities, 'reserveCall'>>({
    scheduleToCloseTimeout: timeoutMs,
    retry: { maximumAttempts: 1 },
  }).reserveCall;
}

/** Takes a dial slot. While no slot is free, the activity fails with the delay of its next attempt. */
export function takeDialSlotWithin(timeoutMs: number): Activities['takeDialSlot'] {
  return proxyActivities<Pick<Activities, 'takeDialSlot'>>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: timeoutMs,
    retry: { initialInterval: '500ms', maximumInterval: '2s' },
  }).takeDialSlot;
}

/**
 * Dials the callee. Never retried, because a second POST to the carrier could ring the phone twice. A schedule-to-start
 * timeout proves that no POST was sent.
 */
export const { dialCallee } = proxyActivities<Pick<Activities, 'dialCallee'>>({
  scheduleToStartTimeout: '60s',
  startToCloseTimeout: '15s',
  retry: { maximumAttempts: 1 },
});

/** Carrier requests and reads that are safe to repeat. They fail after 45 s at the latest. */
export const carrierActivities = proxyActivities<
  Pick<Activities, 'hangUpCall' | 'limitCall' | 'fetchCarrierCall' | 'findPlacedCall' | 'readMediaFacts'>
>({
  startToCloseTimeout: '12s',
  scheduleToCloseTimeout: '45s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
});

/** Prevents a carrier call from being bound to our call later. Retried without limit: our call may end only after this. */
export const { closeBinding } = proxyActivities<Pick<Activities, 'closeBinding'>>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/** Holds the next window. Retried until the hold would be too late. */
export function extendWithin(timeoutMs: number): Activities['extendHold'] {
  return proxyActivities<Pick<Activities, 'extendHold'>>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: Math.max(1_000, timeoutMs),
    retry: { initialInterval: '250ms', maximumInterval: '2s' },
  }).extendHold;
}

/** Delivers the webhook. Each failed attempt sets the delay of the next. A worker crash uses up no delivery attempt. */
export const { deliverWebhook } = proxyActivities<Pick<Activities, 'deliverWebhook'>>({
  startToCloseTimeout: '15s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/** Erases a call's personal data. It is safe to repeat. */
export const { eraseCall } = proxyActivities<Pick<Activities, 'eraseCall'>>({
  startToCloseTimeout: '30s',
  // Erasing costs a busy database much, so failed attempts soon wait for minutes.
  retry: { initialInterval: '500ms', backoffCoefficient: 4, maximumInterval: '5m' },
});
