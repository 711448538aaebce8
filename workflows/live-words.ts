import { patched } from '@temporalio/workflow';
import { wasStreamed } from '../src/calls/call-outcome.js';
import { removeLiveWords } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** Deletes the interim words of the conversation, if there was one. */
export async function clearLiveWords(call: CallRun): Promise<void> {
  if (!patched('live-words-removed')) return;
  if (!wasStreamed(call.state)) return;
  // Ignore a failure, because the database deletes the words by itself.
  await removeLiveWords({ callId: call.input.callId }).catch(() => undefined);
}
