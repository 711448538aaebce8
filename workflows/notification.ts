import { deliverWebhook } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** Delivers the completion webhook, if the call has one, in up to four attempts, each recorded in the database. */
export async function notifyCustomer(call: CallRun): Promise<void> {
  if (!call.input.notify) return;
  await deliverWebhook({ callId: call.input.callId });
}
