import { condition } from '@temporalio/workflow';
import { wasStreamed } from '../src/calls/call-outcome.js';
import { runRecordedStep } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { setFinalSearchAttributes } from './visibility.js';

/** Timeout for the conversation's result after the end. */
const RESULT_WAIT_MS = 20_000;

/**
 * Bills the call to the second, releases its concurrency slot and writes the final status. If the conversation's result
 * is already stored, the same write includes it. Otherwise a second write adds it, which costs another history event.
 */
export async function settleEndedCall(call: CallRun): Promise<void> {
  const { callId, accountId, mode, ledgerEpoch, windows } = call.input;
  const { outcome, answeredAt, answeredBy, carrierSid, carrierEnd } = call.state;
  if (outcome === undefined) return;
  // If the carrier never reported the answer, compute its time from the end and the billable seconds.
  const startTime =
    answeredAt ?? (outcome.billableSeconds > 0 ? outcome.endedAt - outcome.billableSeconds * 1_000 : undefined);
  const conversation = !wasStreamed(call.state) ? 'none' : call.resultStored ? 'stored' : 'awaited';
  const settled = await runRecordedStep('settleCall', {
    callId,
    accountId,
    mode,
    billableSeconds: outcome.billableSeconds,
    estimated: outcome.estimated,
    conversation,
    ...(ledgerEpoch === undefined ? {} : { ledgerEpoch, heldSeconds: call.heldSeconds }),
    ...(windows === undefined ? {} : { windows }),
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
  setFinalSearchAttributes(outcome.status, outcome.endReason);
  if (conversation !== 'awaited') return;
  if (carrierEnd !== undefined) await condition(() => call.resultStored, RESULT_WAIT_MS);
  await runRecordedStep('collectResult', call.nextChange());
}
