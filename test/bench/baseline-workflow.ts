import { condition, defineUpdate, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { BaselineActivities } from './baseline.js';

const { writeLikeACall } = proxyLocalActivities<BaselineActivities>({ scheduleToCloseTimeout: '2s' });

/** The least a durable call could be: one update that waits for one local activity with the same database writes. */
export async function BaselineWorkflow(callId: string): Promise<void> {
  let done = false;
  setHandler(defineUpdate<boolean>('reserved'), async () => {
    await condition(() => done);
    return true;
  });
  await writeLikeACall(callId);
  done = true;
}
