import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { PermanentError, RetryLaterError } from '../src/kernel/errors.js';

/** Converts domain errors to Temporal failures: permanent, or with a delay. Others are retried by the retry policy. */
export function failureOf(error: unknown): unknown {
  if (error instanceof PermanentError) return ApplicationFailure.nonRetryable(error.message, error.name);
  if (error instanceof RetryLaterError) {
    return ApplicationFailure.create({
      type: error.name,
      message: error.message,
      nextRetryDelay: Math.max(1, error.afterMs),
      ...(error.isPlanned ? { category: ApplicationFailureCategory.BENIGN } : {}),
    });
  }
  return error;
}

/** Wraps activities so that their domain errors become Temporal failures. */
export function withFailures<T extends Record<string, (input: never) => Promise<unknown>>>(activities: T): T {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: never) => {
      try {
        return await activity(input);
      } catch (error) {
        throw failureOf(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as T;
}
