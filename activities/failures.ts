import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { PermanentError, RetryLaterError } from '../src/kernel/errors.js';

/** Converts domain errors to permanent or delayed Temporal failures. The retry policy handles all other errors. */
export function toTemporalFailure(error: unknown): unknown {
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
        throw toTemporalFailure(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as T;
}
