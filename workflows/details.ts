import type { CallState } from '../src/kernel/call-state.js';
import type { CallInput, ReservationResult } from '../src/kernel/call-signals.js';

/** Why a hold was rejected. The call ends as balance_exhausted in each case; only this text and the ledger differ. */
const HOLD_REJECTIONS = {
  INSUFFICIENT_BALANCE: 'the balance is used up',
  SPEND_LIMIT_EXCEEDED: 'the spending limit of the account for this day is reached',
  ACCOUNT_FROZEN: 'the account is frozen',
};

/** The fields of a call's run that the description uses; see `createCallRun` for their meanings. */
interface DescribedCall {
  input: CallInput;
  agentId: string | undefined;
  state: CallState;
  reservation: ReservationResult | undefined;
  heldSeconds: number;
  holdRejection: keyof typeof HOLD_REJECTIONS | undefined;
  billedSeconds: number | undefined;
  waitingSince: number | undefined;
}

/** Describes the call in Markdown for the Temporal UI, without phone numbers, names or transcript. */
export function describeCall(call: DescribedCall): string {
  const { input, state } = call;
  const lines = [
    `**${state.status}**${state.outcome ? ` (${state.outcome.endReason})` : ''}: ${input.direction} call, ${input.mode} mode`,
    '',
    `- account ${input.accountId}, agent ${call.agentId ?? 'unknown'}`,
    `- carrier call: ${state.carrierSid ?? 'none yet'}`,
    ...(input.carrierAccountId === undefined ? [] : [`- carrier account: ${input.carrierAccountId}`]),
    `- answered: ${time(state.answeredAt)}${state.answeredBy ? ` by ${state.answeredBy}` : ''}`,
    `- audio: ${state.mediaStartedAt === undefined ? 'not started' : `since ${time(state.mediaStartedAt)}`}` +
      (state.mediaEnd ? `, ended ${time(state.mediaEnd.at)} (${state.mediaEnd.reason})` : ''),
    ...(state.resumptions === undefined ? [] : [`- streams granted after a lost one: ${state.resumptions}`]),
    ...(state.refusedStreams === undefined ? [] : [`- of these, never started: ${state.refusedStreams}`]),
    `- paid for: ${call.heldSeconds} s of at most ${input.maxDurationSeconds} s`,
  ];
  if (call.holdRejection) lines.push(`- no more could be held: ${HOLD_REJECTIONS[call.holdRejection]}`);
  if (call.waitingSince !== undefined) {
    lines.push(
      `- waiting since ${time(call.waitingSince)} for a dial slot of the carrier account; nothing has been dialed yet`,
    );
  }
  if (call.reservation?.outcome === 'expired')
    lines.push('- given up: no money could be reserved in time; nothing was dialed');
  if (call.reservation?.outcome === 'refused') lines.push(`- rejected: ${call.reservation.code}; nothing was dialed`);
  if (state.hangUpCause) lines.push(`- hang-up requested: ${state.hangUpCause}`);
  if (state.outcome) {
    const billed = call.billedSeconds ?? `${state.outcome.billableSeconds} (not settled yet)`;
    lines.push(`- ended: ${time(state.outcome.endedAt)}`, `- billed seconds: ${billed}`);
  }
  return lines.join('\n');
}

function time(ms: number | undefined): string {
  return ms === undefined ? 'no' : new Date(ms).toISOString();
}
