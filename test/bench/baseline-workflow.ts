import { condition, defineUpdate, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { BaselineActivities } from './baseline.js';

const { writeLikeACall } = proxyLocalActivities<BaselineActivities>({ scheduleToCloseTimeout: '2s' });

/**
 * The minimum for a durable call: one update, which waits for one local activity. The activity writes the same rows as
 * the service does.
 */
export async function BaselineWorkflow(callId: string): Promise<void> {
  let done = false;
  setHandler(defineUpdate<boolean>('reserved'), async () => {
    await condition(() => done);
    return true;
  });
  await writeLikeACall(callId);
  done = true;
}
