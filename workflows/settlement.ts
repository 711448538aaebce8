import { condition } from '@temporalio/workflow';
import { wasStreamed } from '../src/calls/call-outcome.js';
import { recorded } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { showFinalStatus } from './visibility.js';

/** How long the conversation's result may take after the end. */
const RESULT_WAIT_MS = 20_000;

/**
 * Bills the call to the second, frees its place and writes the final status, with what was said if that is stored
 * already (one event less), else in a second write.
 */
export async function settleEndedCall(call: CallRun): Promise<void> {
  const { callId, accountId, mode } = call.input;
  const { outcome, answeredAt, answeredBy, carrierSid, carrierEnd } = call.state;
  if (outcome === undefined) return;
  // A carrier that told the end and the duration but never the answer has told the answer, too.
  const startTime =
    answeredAt ?? (outcome.billableSeconds > 0 ? outcome.endedAt - outcome.billableSeconds * 1_000 : undefined);
  const conversation = !wasStreamed(call.state) ? 'none' : call.resultStored ? 'stored' : 'awaited';
  const settled = await recorded('settleCall', {
    callId,
    accountId,
    mode,
    billableSeconds: outcome.billableSeconds,
    estimated: outcome.estimated,
    conversation,
    ...(call.mayHaveRung || carrierSid !== undefined ? {} : { notDialed: true }),
    change: {
      ...call.nextChange(),
      status: outcome.status,
      endReason: outcome.endReason,
      endTime: Math.max(outcome.endedAt, startTime ?? outcome.endedAt),
      ...(startTime === undefined ? {} : { startTime }),
      ...(answeredBy === undefined ? {} : { answeredBy }),
      ...(carrierSid === undefined ? {} : { carrierSid }),
    },
  });
  call.billedSeconds = settled.billedSeconds;
  call.describe();
  showFinalStatus(outcome.status, outcome.endReason);
  if (conversation !== 'awaited') return;
  if (carrierEnd !== undefined) await condition(() => call.resultStored, RESULT_WAIT_MS);
  await recorded('collectResult', call.nextChange());
}
