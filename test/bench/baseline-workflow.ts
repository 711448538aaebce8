import { condition, defineUpdate, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { BaselineActivities } from './baseline.js';

const { writeLikeACall } = proxyLocalActivities<BaselineActivities>({ scheduleToCloseTimeout: '2s' });

/**
 * The least work that a durable call needs, as a baseline for the service: one update, which waits for one local
 * activity. The activity writes as many documents as the service writes for a new call.
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
