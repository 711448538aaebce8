import type { WebhookAttemptDocument } from '../store/models/webhook.js';
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
