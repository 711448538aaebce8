import { patched } from '@temporalio/workflow';
import { tellEnd } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** Tells operators of a call that is over. */
export async function noticeEnd(call: CallRun): Promise<void> {
  if (!patched('end-notice')) return;
  const { callId } = call.input;
  await tellEnd({ callId, status: call.state.status, billedSeconds: call.billedSeconds ?? 0 });
}
