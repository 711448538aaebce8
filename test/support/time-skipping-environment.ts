import { TestWorkflowEnvironment } from '@temporalio/testing';

/**
 * A Temporal server of its own whose clock a test moves. It must be up within the 5 s of the SDK, which on a busy machine
 * can take more than one try.
 */
export async function startTimeSkippingEnvironment(tries = 3): Promise<TestWorkflowEnvironment> {
  const path = String(process.env.TEST_TIME_SKIPPING_PROGRAM);
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
  } catch (error) {
    if (tries <= 1) throw error;
    return startTimeSkippingEnvironment(tries - 1);
  }
}
