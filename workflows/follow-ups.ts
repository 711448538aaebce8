import { sleep } from '@temporalio/workflow';
import type { EraseInput, RedeliverInput } from '../src/calls/follow-ups.js';
import { deliverWebhook, eraseCall } from './activity-proxies.js';

/** The media server writes recordings and results for at most two minutes after the end. */
const LAST_WRITES_MS = 5 * 60_000;

/** Erases a call's personal data, and again once no write can still be in progress. */
export async function EraseWorkflow(input: EraseInput): Promise<void> {
  await eraseCall(input);
  await sleep(LAST_WRITES_MS);
  await eraseCall(input);
}

/** Sends a completion event again, in up to four attempts. */
export async function RedeliverWorkflow(input: RedeliverInput): Promise<void> {
  await deliverWebhook(input);
}
