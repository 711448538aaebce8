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
export function BareCallWorkflow(callId: string): Promise<void> {
  return runBareCall(callId, '40s');
}

/** The same call, which stays open until its signal arrives. */
export function BareOpenCallWorkflow(callId: string): Promise<void> {
  return runBareCall(callId, '4h');
}

async function runBareCall(callId: string, within: '40s' | '4h'): Promise<void> {
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
  await condition(() => isOver, within);
  await local.settle(callId);
  await deliver(callId);
}
