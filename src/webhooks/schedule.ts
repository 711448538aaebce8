import type { AttemptStep } from './model.js';
import { ATTEMPT_TIMEOUT_MS } from './client.js';

/** Delay after each failed attempt but the last, in ms. */
const WAITS_MS = [1_000, 5_000, 30_000];
export const MAX_ATTEMPTS = WAITS_MS.length + 1;

/** Time in ms, beyond the attempt timeout, after which an attempt without an outcome counts as interrupted. */
const FINISHING_MS = 1_000;

/**
 * The next step of a delivery, according to its attempts. `interrupt`: record an attempt as failed, because its
 * worker died. `failedAt` is in ms since the epoch.
 */
export type NextStep =
  | { step: 'delivered' }
  | { step: 'exhausted' }
  | { step: 'wait'; afterMs: number }
  | { step: 'interrupt'; number: number; failedAt: number }
  | { step: 'send'; number: number };

/**
 * The next step of one of an event's deliveries. `number` counts the attempts of all deliveries, `nth` those of this
 * delivery.
 */
export type DeliveryStep = NextStep & { nth?: number };

/**
 * Determines the next step of one of an event's deliveries.
 * @param rows attempts of all deliveries, in order
 * @param redelivery 0: the first delivery; n: the n-th redelivery
 * @param now ms since the epoch
 */
export function nextDeliveryStep(rows: readonly AttemptStep[], redelivery: number, now: number): DeliveryStep {
  const own = rows.filter((row) => (row.redelivery ?? 0) === redelivery);
  const highest = rows.at(-1)?.number ?? 0;
  // Attempt numbers continue across deliveries, but each delivery has up to four attempts.
  const before = redelivery === 0 ? 0 : (own[0]?.number ?? highest + 1) - 1;
  const next = nextStep(
    own.map((row) => ({ ...row, number: row.number - before })),
    now,
  );
  if (next.step === 'send') return { ...next, number: highest + 1, nth: next.number };
  return next.step === 'interrupt' ? { ...next, number: next.number + before } : next;
}

/**
 * Determines the next step only from the stored attempts. So all workers agree, and no attempt is lost when a worker
 * dies.
 * @param attempts attempts of one delivery, in order
 * @param now ms since the epoch
 */
export function nextStep(attempts: readonly AttemptStep[], now: number): NextStep {
  if (attempts.some(({ outcome }) => outcome === 'delivered')) return { step: 'delivered' };
  const last = attempts.at(-1);
  if (last === undefined) return { step: 'send', number: 1 };
  if (last.outcome === undefined) {
    const failedAt = last.startedAt.getTime() + ATTEMPT_TIMEOUT_MS;
    const givenUpAt = failedAt + FINISHING_MS;
    if (now < givenUpAt) return { step: 'wait', afterMs: givenUpAt - now };
    return { step: 'interrupt', number: last.number, failedAt };
  }
  if (last.number >= MAX_ATTEMPTS) return { step: 'exhausted' };
  const dueAt = (last.finishedAt ?? last.startedAt).getTime() + retryDelayMs(last.number);
  return now < dueAt ? { step: 'wait', afterMs: dueAt - now } : { step: 'send', number: last.number + 1 };
}

/**
 * Returns the delay between a failed attempt and the next one, in ms.
 * @param number number of the failed attempt, from 1
 */
export function retryDelayMs(number: number): number {
  return WAITS_MS[number - 1] ?? 0;
}
