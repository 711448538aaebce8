import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { withFailures } from '../../activities/failures.js';
import { NotYetHeld } from '../../src/billing/errors.js';
import { CallRequestMissing } from '../../src/calls/errors.js';
import { WebhookNotDelivered } from '../../src/webhooks/errors.js';

async function failureFor(error: unknown): Promise<unknown> {
  const { act } = withFailures({ act: async () => Promise.reject(error) });
  return act().catch((failure: unknown) => failure);
}

describe('the failure that an activity returns to Temporal', () => {
  it('is non-retryable if a retry is pointless', async () => {
    const failure = await failureFor(new CallRequestMissing());
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'CallRequestMissing', nonRetryable: true });
  });

  it('sets the time of the next attempt, and is benign if the wait is planned', async () => {
    const planned = { type: 'NotYetHeld', nextRetryDelay: 4_000, category: ApplicationFailureCategory.BENIGN };
    expect(await failureFor(new NotYetHeld(4_000))).toMatchObject({ ...planned, nonRetryable: false });
    expect(await failureFor(new NotYetHeld(-3))).toMatchObject({ nextRetryDelay: 1 });
    // The endpoint of a customer fails; the worker's log must not show a stack for each attempt.
    const failed = await failureFor(new WebhookNotDelivered('retry', 60_000));
    const retried = { type: 'WebhookNotDelivered', nextRetryDelay: 60_000 };
    expect(failed).toMatchObject({ ...retried, category: ApplicationFailureCategory.BENIGN });
  });

  it('is the unchanged error if the retry policy decides', async () => {
    const error = new Error('The database is away.');
    expect(await failureFor(error)).toBe(error);
  });
});
