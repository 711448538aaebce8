import type { CallStatus, EndReason } from './call-state.js';

const REASONS: Partial<Record<EndReason, string>> = {
  busy: 'the line was busy',
  no_answer: 'there was no answer',
  rejected: 'the call was rejected',
  invalid_number: 'the number is not in service',
  carrier_failed: 'the carrier could not connect it',
  carrier_unreachable: 'the carrier could not be reached',
  media_failed: 'the audio connection failed',
  caller_hangup: 'the caller hung up first',
  api_hangup: 'it was cancelled by request',
  operator_cancel: 'it was cancelled by an operator',
  expired: 'it could not be started in time',
};

/** Returns a one-sentence summary for a call without a conversation. */
export function summaryOfUnspoken(status: CallStatus | undefined, reason: EndReason | undefined): string {
  if (status === 'COMPLETED') return 'The call was answered and ended before a conversation began.';
  const why = reason === undefined ? undefined : REASONS[reason];
  return `No conversation took place${why === undefined ? '' : `: ${why}`}.`;
}
