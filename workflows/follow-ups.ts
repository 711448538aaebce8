import { sleep } from '@temporalio/workflow';
import type { EraseInput, RedeliverInput } from '../src/calls/follow-ups.js';
import { deliverWebhook, eraseCall } from './activity-proxies.js';

/** Wait before the second erasure. The media server writes for at most two minutes after the end of a call. */
const LAST_WRITES_MS = 5 * 60_000;
/** Random part of the wait, so that erasures that were requested together are not repeated together. */
const MOST_LATER_MS = 5 * 60_000;

/** Erases a call's personal data, and erases it again when no write to it can be in progress any more. */
export async function EraseWorkflow(input: EraseInput): Promise<void> {
  await eraseCall(input);
  await sleep(LAST_WRITES_MS + Math.floor(Math.random() * MOST_LATER_MS));
  await eraseCall(input);
}

/** Sends a completion event again, in up to four attempts. */
export async function RedeliverWorkflow(input: RedeliverInput): Promise<void> {
  await deliverWebhook(input);
}
