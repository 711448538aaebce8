import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/create-activities.js';

/** Steps of the ledger and the read model: quick, idempotent, and never given up. */
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
 * Runs a step beside the workflow task, which costs one event; when it fails or hangs there, the same step runs as a
 * regular activity with unlimited retries, because a hanging local activity would freeze the call's timers and signals.
 */
export async function recorded<Step extends RecordedStep>(
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

/** The first step has no fallback: it is decided in time or the run is abandoned. */
export function reserveWithin(timeoutMs: number): Activities['reserveCall'] {
  return proxyLocalActivities<Pick<Activities, 'reserveCall'>>({
    scheduleToCloseTimeout: timeoutMs,
    retry: { maximumAttempts: 1 },
  }).reserveCall;
}

/** Asked again when the call's turn may have come: the activity itself says when. */
export function takeDialSlotWithin(timeoutMs: number): Activities['takeDialSlot'] {
  return proxyActivities<Pick<Activities, 'takeDialSlot'>>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: timeoutMs,
    retry: { initialInterval: '500ms', maximumInterval: '2s' },
  }).takeDialSlot;
}

/** Never repeated by Temporal: a second POST could ring a second time. Waiting too long for a worker proves no POST. */
export const { dialCallee } = proxyActivities<Pick<Activities, 'dialCallee'>>({
  scheduleToStartTimeout: '60s',
  startToCloseTimeout: '15s',
  retry: { maximumAttempts: 1 },
});

/** Questions and orders to the carrier that may be repeated at will, within two minutes. */
export const durable = proxyActivities<
  Pick<Activities, 'hangUpCall' | 'limitCall' | 'fetchCarrierCall' | 'findPlacedCall' | 'readMediaFacts'>
>({
  startToCloseTimeout: '12s',
  scheduleToCloseTimeout: '45s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
});

/** Ruling out a late binding must succeed before a call may end without one. */
export const { closeBinding } = proxyActivities<Pick<Activities, 'closeBinding'>>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/** The next window: tried until it would come too late to be of use. */
export function extendWithin(timeoutMs: number): Activities['extendHold'] {
  return proxyActivities<Pick<Activities, 'extendHold'>>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: Math.max(1_000, timeoutMs),
    retry: { initialInterval: '250ms', maximumInterval: '2s' },
  }).extendHold;
}

/** Each attempt tells the delay before the next; a worker's death costs a time-out, never an attempt. */
export const { deliverWebhook } = proxyActivities<Pick<Activities, 'deliverWebhook'>>({
  startToCloseTimeout: '15s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/** Each of its removals may be repeated. */
export const { eraseCall } = proxyActivities<Pick<Activities, 'eraseCall'>>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});
