import { sleep } from '@temporalio/workflow';
import type { EraseInput, RedeliverInput } from '../src/calls/follow-ups.js';
import { deliverWebhook, eraseCall } from './activity-proxies.js';

/** The media server writes a recording for two minutes after the end at most, and the call's result with it. */
const LAST_WRITES_MS = 5 * 60_000;

/** Erases a call's personal data, and once more when nothing can be on its way any more. */
export async function EraseWorkflow(input: EraseInput): Promise<void> {
  await eraseCall(input);
  await sleep(LAST_WRITES_MS);
  await eraseCall(input);
}

/** Sends a completion event again, in up to four attempts. */
export async function RedeliverWorkflow(input: RedeliverInput): Promise<void> {
  await deliverWebhook(input);
}
