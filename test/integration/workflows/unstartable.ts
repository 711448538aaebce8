import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';

/** A call id whose webhook workflow cannot be started. */
export const UNSTARTABLE = `call_${'0'.repeat(26)}`;

/** Loaded together with the workflows: makes the start of this webhook workflow fail, as the server would. */
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
