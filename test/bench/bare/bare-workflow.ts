import {
  condition,
  defineSignal,
  defineUpdate,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';
import type { BareActivities } from './bare-worker.js';

const local = proxyLocalActivities<Pick<BareActivities, 'reserve' | 'settle'>>({ scheduleToCloseTimeout: '2s' });
const { dial } = proxyActivities<Pick<BareActivities, 'dial'>>({
  startToCloseTimeout: '60s',
  retry: { maximumAttempts: 1 },
});
const { deliver } = proxyActivities<Pick<BareActivities, 'deliver'>>({ startToCloseTimeout: '60s' });

/**
 * A call with its durable steps and nothing else: reserve, dial, wait for the carrier's signal, settle, deliver the
 * webhook. The update returns when the reservation is done, as the response to a client does.
 */
export async function BareCallWorkflow(callId: string): Promise<void> {
  let isReserved = false;
  let isOver = false;
  setHandler(defineUpdate<boolean>('reserved'), async () => {
    await condition(() => isReserved);
    return true;
  });
  setHandler(defineSignal('over'), () => void (isOver = true));
  await local.reserve(callId);
  isReserved = true;
  await dial(callId);
  await condition(() => isOver, '40s');
  await local.settle(callId);
  await deliver(callId);
}
