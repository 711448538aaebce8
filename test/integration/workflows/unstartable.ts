import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';

/** A call id whose webhook workflow cannot be started. */
export const UNSTARTABLE = `call_${'0'.repeat(26)}`;

/**
 * Interceptors that are loaded together with the workflows. They make the start of the webhook workflow of
 * `UNSTARTABLE` fail, as an error of the Temporal server would.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async startChildWorkflowExecution(input, next) {
        if (input.options.workflowId?.includes(UNSTARTABLE))
          throw ApplicationFailure.nonRetryable('refused by the test');
        return next(input);
      },
    },
  ],
});
