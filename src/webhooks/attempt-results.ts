import type { Logger } from '../platform/telemetry/logger.js';
import { report } from '../platform/telemetry/measurements.js';
import type { WebhookAttempts } from './attempts.js';
import type { PostResult } from './client.js';
import type { DeliveryHead, WebhookDeliveries } from './deliveries.js';
import type { WebhookAttemptDocument, WebhookDeliveryDocument } from './model.js';
import { MAX_ATTEMPTS, retryDelayMs } from './schedule.js';

export type WebhookAttemptResult =
  | { result: 'delivered' }
  /** The attempt failed; the next one is due after `afterMs`. */
  | { result: 'retry'; afterMs: number }
  /** All attempts failed, or there is nothing to send. */
  | { result: 'exhausted' }
  /**
   * Nothing was sent: another attempt is in progress, the retry delay is not over, or the endpoint's bulkhead is full.
   */
  | { result: 'tooEarly'; afterMs: number };

export type SentAttempt = PostResult & Required<Pick<WebhookAttemptDocument, 'requestHeaders'>>;

/** Records what came of attempts. */
export function createAttemptResults(deps: {
  deliveries: WebhookDeliveries;
  attempts: WebhookAttempts;
  logger: Logger;
}) {
  const { deliveries, attempts, logger } = deps;

  /**
   * Records a delivery's state, for lists. If the write is lost, the next attempt computes and writes it again.
   * @returns the delivery as it is then
   */
  async function recordState(
    { callId, state }: WebhookDeliveryDocument,
    step: 'delivered' | 'exhausted' | 'retry',
    at = new Date(),
  ): Promise<DeliveryHead | null> {
    const now = step === 'retry' ? undefined : step === 'delivered' ? 'delivered' : 'failed';
    if (now !== undefined && now === state) return deliveries.findHead(callId);
    return deliveries.recordState(callId, now, at);
  }

  /** Records that the worker of an attempt died. `failedAt` is in ms since the epoch. */
  async function interrupt(delivery: WebhookDeliveryDocument, number: number, failedAt: number): Promise<void> {
    const { callId } = delivery;
    logger.warn({ callId, attempt: number }, 'webhook attempt interrupted: its worker died');
    const at = { finished: new Date(failedAt), started: unstoredStart(delivery, number) };
    await attempts.finish(callId, number, { outcome: 'interrupted' }, at);
  }

  /** Records the result. @param at.number counts attempts across all deliveries of the event, `nth` within this one */
  async function conclude(
    delivery: WebhookDeliveryDocument,
    { number, nth }: { number: number; nth: number },
    { delivered, ...response }: SentAttempt,
  ): Promise<WebhookAttemptResult> {
    const { callId } = delivery;
    const finishedAt = new Date();
    const at = { finished: finishedAt, started: unstoredStart(delivery, number) };
    await attempts.finish(callId, number, { outcome: delivered ? 'delivered' : 'failed', ...response }, at);
    const outcome = delivered ? 'delivered' : nth >= MAX_ATTEMPTS ? 'exhausted' : 'retry';
    logOutcome(logger, outcome, { callId, attempt: number, ...response });
    report('webhookAttempt', {
      outcome: delivered ? 'delivered' : (response.error ?? 'refused'),
      seconds: response.durationMs / 1_000,
    });
    const stored = await recordState(delivery, outcome, finishedAt);
    // The call may have been erased during the request, before there was a response to erase.
    if (stored?.erasedAt) await attempts.erase(callId);
    return outcome === 'retry' ? { result: outcome, afterMs: retryDelayMs(nth) } : { result: outcome };
  }

  return { recordState, interrupt, conclude };
}

/** When an attempt began that may have no row yet: only the first one. */
function unstoredStart({ firstAttemptAt }: WebhookDeliveryDocument, number: number): Date | undefined {
  return number === 1 ? firstAttemptAt : undefined;
}

/** Logs the outcome of a delivery in one line. Its attempts are stored, and shown to the customer. */
function logOutcome(
  logger: Logger,
  outcome: 'delivered' | 'exhausted' | 'retry',
  facts: { callId: string; attempt: number } & Omit<PostResult, 'delivered'>,
): void {
  const { callId, attempt, httpStatus, error, durationMs } = facts;
  const logged = { callId, attempt, httpStatus, error, durationMs };
  if (outcome === 'delivered') logger.info(logged, 'webhook delivered');
  else if (outcome === 'exhausted') logger.warn(logged, 'webhook not delivered: all attempts failed');
  else logger.debug(logged, 'webhook attempt failed');
}
