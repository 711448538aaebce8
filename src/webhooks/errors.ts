import { RetryLaterError } from '../kernel/errors.js';

/** The event is not delivered yet; retry later. */
export class WebhookNotDelivered extends RetryLaterError {
  override readonly name = 'WebhookNotDelivered';

  /** @param result `retry` after a failed attempt, `tooEarly` when no attempt was due */
  constructor(result: 'retry' | 'tooEarly', afterMs: number) {
    super(
      result === 'retry' ? 'The receiver did not accept the event' : 'The next attempt is not due yet',
      afterMs,
      false,
    );
  }
}
