import { TestWorkflowEnvironment } from '@temporalio/testing';

/**
 * Starts a separate Temporal server whose clock the test moves. Tries several times, because on a busy machine the
 * server may not be ready within the SDK's limit of 5 s.
 */
export async function startTimeSkippingEnvironment(tries = 5): Promise<TestWorkflowEnvironment> {
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
