import { RetryLaterError } from '../kernel/errors.js';

/** An event is not delivered yet. */
export class WebhookNotDelivered extends RetryLaterError {
  override readonly name = 'WebhookNotDelivered';

  /** @param result `retry` after an attempt that failed, `tooEarly` where none was due */
  constructor(result: 'retry' | 'tooEarly', afterMs: number) {
    super(
      result === 'retry' ? 'The receiver did not accept the event' : 'The next attempt is not due yet',
      afterMs,
      false,
    );
  }
}
