import { RetryLaterError } from '../kernel/errors.js';

/**
 * Thrown when the event is not delivered yet and must be retried later. The sender logs the outcome of the delivery, so
 * the retries of a customer's failing endpoint are no warnings of ours.
 */
export class WebhookNotDelivered extends RetryLaterError {
  override readonly name = 'WebhookNotDelivered';

  /** @param result `retry` after a failed attempt, `tooEarly` when no attempt was due */
  constructor(result: 'retry' | 'tooEarly', afterMs: number) {
    super(
      result === 'retry' ? 'The webhook endpoint did not accept the event' : 'The next attempt is not due yet',
      afterMs,
      true,
    );
  }
}
