import { deliverWebhook } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** Tells the receiver, if one was named, how the call ended. Four attempts; what came of each is kept in the database. */
export async function notify(call: CallRun): Promise<void> {
  if (!call.input.notify) return;
  await deliverWebhook({ callId: call.input.callId });
}
