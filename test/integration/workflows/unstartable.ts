import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';

/** The webhook of no call with such an id can be taken up. */
export const UNSTARTABLE = `call_${'0'.repeat(26)}`;

/** Loaded beside the workflows: what the server would refuse is refused before it is asked. */
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
