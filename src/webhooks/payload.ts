import type { CompletionPayload } from './completion.js';
import { usdFromMicros, type Micros } from '../kernel/money.js';
import { summaryOfUnspoken } from '../kernel/unspoken-summary.js';
import type { AnsweredBy, CallStatus, Direction, EndReason } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';

/** Data of the completion event. */
export interface CompletedCall {
  _id: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  status: CallStatus;
  endReason?: EndReason;
  answeredBy?: AnsweredBy;
  fromPhoneNumber: string;
  toPhoneNumber: string;
  agentId: string;
  agentName?: string;
  inputParameters: string;
  externalCallId?: string;
  createdAt: Date;
  updatedAt: Date;
  /** Time of the answer. */
  startTime?: Date;
  endTime?: Date;
  /** Billed seconds. */
  durationSeconds?: number;
  costMicros?: Micros;
  summary?: string;
  transcription?: string;
  /** JSON object in a string. */
  outputParameters?: string;
  hasRecording?: boolean;
}

/** Reads completed calls; implemented by the calls domain. */
export interface CompletedCalls {
  /** Finds a call and the URL for its completion event; null when no webhook is due. */
  find(callId: string): Promise<{ call: CompletedCall; webhookUrl: string } | null>;
}

/**
 * Builds the completion event of an ended call.
 * @throws Error when the call has no final status yet
 */
export function completionPayload(call: CompletedCall, publicBaseUrl: string): CompletionPayload {
  const { status } = call;
  if (status !== 'COMPLETED' && status !== 'FAILED' && status !== 'CANCELLED') {
    throw new Error(`The call is ${status}; a completion event needs a final status.`);
  }
  const endReason = call.endReason ?? 'internal_error';
  const start = call.startTime ?? call.createdAt;
  const end = call.endTime ?? call.updatedAt;
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
    start_time: start.toISOString(),
    // Carriers report whole seconds, so the reported end of an immediately rejected call could be before its start.
    end_time: (end < start ? start : end).toISOString(),
    duration_seconds: call.durationSeconds ?? 0,
    ...(call.hasRecording ? { recording_url: `${publicBaseUrl}/calls/${call._id}/recording` } : {}),
    summary: call.summary || summaryOfUnspoken(status, endReason),
    ...(call.transcription ? { transcription: call.transcription } : {}),
    input_parameters: call.inputParameters || '{}',
    ...(call.outputParameters ? { output_parameters: call.outputParameters } : {}),
    external_call_id: call.externalCallId ?? '',
    cost: usdFromMicros(call.costMicros ?? 0),
    end_reason: endReason,
    ...(call.answeredBy ? { answered_by: call.answeredBy } : {}),
    mode: call.mode,
  };
}
