import type { CallProvider, CallSummary } from '../../calls/views/schemas.js';
import type { EndReason } from '../../kernel/call-state.js';
import { isTemporaryAgent } from '../../kernel/ids.js';
import { durationInWords, formatDollars, localClock } from './format';

const END_REASON_LABELS: Readonly<Record<EndReason, string>> = {
  callee_hangup: 'Callee hung up',
  caller_hangup: 'Caller hung up',
  agent_hangup: 'Agent hung up',
  api_hangup: 'Ended by request',
  operator_cancel: 'Canceled by the operator',
  busy: 'Busy',
  no_answer: 'No answer',
  rejected: 'Rejected',
  invalid_number: 'Invalid number',
  carrier_failed: 'Failed at the carrier',
  carrier_unreachable: 'Carrier unreachable',
  voicemail: 'Voicemail',
  max_duration: 'Maximum duration reached',
  silence: 'Silence',
  balance_exhausted: 'Balance used up',
  media_failed: 'Audio connection failed',
  expired: 'Expired',
  internal_error: 'Internal error',
};

/** Labels of codes that do not read well as words in sentence case. */
const LABELS: Readonly<Record<string, string>> = {
  CANCELLED: 'Canceled',
  unknown_fields_ignored: 'Unknown fields ignored',
  stream_started: 'Audio started',
  stream_ended: 'Audio ended',
  throttled: 'Dial postponed by the carrier',
  hold: 'Money held',
  hold_refused: 'No money held',
  refusal: 'Reason',
  attempt: 'Webhook attempt',
  under_way: 'In progress',
  end_foreseen: 'End scheduled',
  result: 'Result stored',
  billed_micros: 'Billed',
  sip_code: 'SIP code',
  http_status: 'HTTP status',
  stt: 'Speech to text',
  llm: 'Language model',
  tts: 'Text to speech',
  realtime: 'Speech to speech',
  no_recording: 'Everything but the recording',
  no_transcript: 'Everything but the transcript',
  email_addresses: 'E-mail addresses',
};

/** Returns the label of a code of the API: a status, an event, the name of a detail, or an operation such as `createAgent`. */
export function labelOf(code: string): string {
  const words = code
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[_-]/g, ' ')
    .replace(/\bapi\b/, 'API');
  return LABELS[code] ?? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

export function endReasonLabel(endReason: EndReason | undefined): string {
  return endReason === undefined ? '' : END_REASON_LABELS[endReason];
}

/** A code of the API, in contrast to free text. */
const CODE = /^(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:_[A-Z]+)*)$/;

/** Returns the label and the text of a detail of a timeline's event, with readable units. */
export function detailLabel(name: string, value: unknown): [label: string, text: string] {
  if (name === 'seconds') return ['For', durationInWords(Number(value))];
  if (name === 'window') return ['Window', String(Number(value) + 1)];
  if (name === 'end_reason') return ['End reason', endReasonLabel(value as EndReason)];
  // The end of the audio has the same reason as that of the call, so it has the same label.
  if (name === 'reason' && Object.hasOwn(END_REASON_LABELS, String(value)))
    return ['Reason', endReasonLabel(value as EndReason)];
  if (name.endsWith('_seconds')) return [labelOf(name.slice(0, -'_seconds'.length)), durationInWords(Number(value))];
  if (name.endsWith('_at')) return [labelOf(name), localClock(String(value))];
  if (name.endsWith('_micros')) return [labelOf(name), formatDollars(Number(value) / 1e6)];
  if (typeof value === 'boolean') return [labelOf(name), value ? 'Yes' : 'No'];
  return [labelOf(name), typeof value === 'string' && CODE.test(value) ? labelOf(value) : String(value)];
}

/** Returns the label of a provider that served a part of a call. */
export function providerLabel({ stage, provider, model, number }: CallProvider): string {
  return `${labelOf(stage)}: ${provider} ${model}${number === 1 ? '' : ` (alternative ${number})`}`;
}

/** Returns who spoke a turn. Transcripts name the other person `caller`, in calls of both directions. */
export function speakerLabel(speaker: 'agent' | 'caller', direction: 'inbound' | 'outbound'): string {
  if (speaker === 'agent') return 'Agent';
  return direction === 'outbound' ? 'Callee' : 'Caller';
}

/** Names the agent of a call. The name of a stored agent is missing after erasure. */
export function nameOfAgent({ agent_id: id, agent_name: name }: Pick<CallSummary, 'agent_id' | 'agent_name'>): string {
  return name ?? (isTemporaryAgent(id) ? 'Temporary agent' : id);
}

/** Names a party of a call by its number. A call in the browser has the name of a member or key instead, after `web:`. */
export function partyName(number: string): string {
  if (number === 'web') return 'Browser';
  return number.startsWith('web:') ? `${number.slice('web:'.length)} (browser)` : number;
}

/** Names a call by the other person's number and the agent. */
export function callName(
  call: Pick<CallSummary, 'call_direction' | 'from_phone_number' | 'to_phone_number' | 'agent_name'>,
): string {
  const isOutbound = call.call_direction === 'outbound';
  const number = isOutbound ? call.to_phone_number : call.from_phone_number;
  const agent = call.agent_name === undefined ? '' : ` · ${call.agent_name}`;
  return `Call ${isOutbound ? 'to' : 'from'} ${partyName(number) || 'an erased number'}${agent}`;
}
