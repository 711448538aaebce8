import type { WebhookAttemptDocument } from './model.js';
import { ATTEMPT_TIMEOUT_MS } from './client.js';

/** The wait after each attempt's failure; the last attempt has none. */
const WAITS_MS = [1_000, 5_000, 30_000];
export const MAX_ATTEMPTS = WAITS_MS.length + 1;

/** How long after an attempt's time its row may still get an outcome before its worker counts as dead. */
const FINISHING_MS = 1_000;

/** What is to be done now for a delivery, by its attempts so far. */
export type NextStep =
  | { step: 'delivered' }
  | { step: 'exhausted' }
  | { step: 'wait'; afterMs: number }
  | { step: 'interrupt'; number: number; failedAt: number }
  | { step: 'send'; number: number };

/** The same for one delivery of several: `number` counts through all of them, `nth` within this one. */
export type DeliveryStep = NextStep & { nth?: number };

/** What to do for one of the event's deliveries (0: the first, n: the n-th redelivery), by the rows of all of them. */
export function nextStepOf(rows: readonly WebhookAttemptDocument[], redelivery: number, now: number): DeliveryStep {
  const own = rows.filter((row) => (row.redelivery ?? 0) === redelivery);
  const highest = rows.at(-1)?.number ?? 0;
  // Numbers go on through all deliveries, while each has four attempts of its own.
  const before = redelivery === 0 ? 0 : (own[0]?.number ?? highest + 1) - 1;
  const next = nextStep(
    own.map((row) => ({ ...row, number: row.number - before })),
    now,
  );
  if (next.step === 'send') return { ...next, number: highest + 1, nth: next.number };
  return next.step === 'interrupt' ? { ...next, number: next.number + before } : next;
}

/**
 * Decides by the rows alone, so that every worker comes to the same answer and a worker's death loses no attempt.
 * @param attempts rows of one delivery, first to last
 * @param now ms since the epoch
 */
export function nextStep(attempts: readonly WebhookAttemptDocument[], now: number): NextStep {
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
  const dueAt = (last.finishedAt ?? last.startedAt).getTime() + waitAfter(last.number);
  return now < dueAt ? { step: 'wait', afterMs: dueAt - now } : { step: 'send', number: last.number + 1 };
}

/** Ms between the failure of an attempt and the next one. */
export function waitAfter(number: number): number {
  return WAITS_MS[number - 1] ?? 0;
}
