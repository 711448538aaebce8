import type { CompletionPayload } from '../contract/completion.js';
import type { EndReason } from '../domain/call-state.js';
import { usdFromMicros } from '../domain/money.js';
import type { CallDocument } from '../store/models/call.js';

/**
 * The completion event of a call that is over.
 * @throws Error when the call has no final status yet
 */
export function completionPayload(call: CallDocument, publicBaseUrl: string): CompletionPayload {
  const { status } = call;
  if (status !== 'COMPLETED' && status !== 'FAILED' && status !== 'CANCELLED') {
    throw new Error(`The call is still ${status}: there is no completion to tell of.`);
  }
  const endReason = call.endReason ?? 'internal_error';
  return {
    call_id: call._id,
    status,
    call_direction: call.direction,
    from_phone_number: call.fromPhoneNumber,
    to_phone_number: call.toPhoneNumber,
    agent_id: call.agentId,
    ...(call.agentName ? { agent_name: call.agentName } : {}),
    created_at: call.createdAt.toISOString(),
    updated_at: call.updatedAt.toISOString(),
    start_time: (call.startTime ?? call.createdAt).toISOString(),
    end_time: (call.endTime ?? call.updatedAt).toISOString(),
    duration_seconds: call.durationSeconds ?? 0,
    ...(call.hasRecording ? { recording_url: `${publicBaseUrl}/calls/${call._id}/recording` } : {}),
    summary: call.summary || summaryWithoutConversation(call.durationSeconds, endReason),
    ...(call.transcription ? { transcription: call.transcription } : {}),
    input_parameters: call.inputParameters || '{}',
    ...(call.outputParameters ? { output_parameters: call.outputParameters } : {}),
    external_call_id: call.externalCallId ?? '',
    cost: usdFromMicros(call.costMicros ?? 0),
    end_reason: endReason,
    ...(call.answeredBy ? { answered_by: call.answeredBy } : {}),
  };
}

const REASON_IN_WORDS: Readonly<Record<EndReason, string>> = {
  callee_hangup: 'the called party hung up',
  caller_hangup: 'the caller hung up',
  agent_hangup: 'the agent ended it',
  api_hangup: 'it was ended by request',
  operator_cancel: 'it was cancelled by an operator',
  busy: 'the line was busy',
  no_answer: 'nobody answered',
  rejected: 'it was rejected',
  invalid_number: 'the number is not valid',
  carrier_failed: 'the carrier could not connect it',
  carrier_unreachable: 'the carrier could not be reached',
  voicemail: 'a voicemail answered',
  max_duration: 'the maximum duration was reached',
  silence: 'nobody spoke',
  balance_exhausted: 'the balance was used up',
  media_failed: 'the audio connection failed',
  expired: 'it could not be placed in time',
  internal_error: 'an internal error ended it',
};

/** For calls that left no conversation to sum up. */
function summaryWithoutConversation(durationSeconds: number | undefined, endReason: EndReason): string {
  const reason = REASON_IN_WORDS[endReason];
  if (!durationSeconds) return `No conversation took place: ${reason}.`;
  return `The call ended after ${durationSeconds} ${durationSeconds === 1 ? 'second' : 'seconds'}: ${reason}.`;
}
