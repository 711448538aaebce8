import { ATTEMPT_EXAMPLE, callParties, WebhookAttempt } from '../../webhooks/schemas.js';
import { z } from 'zod';
import { CALL_STATUSES, END_REASONS } from '../../kernel/call-state.js';
import { REDACTED_KINDS, STORAGE_MODES } from '../../kernel/conversation/storage.js';
import { MAX_LENGTHS, text } from '../../platform/http/contract/fields.js';
import { momentParameter } from '../../billing/statements/schemas.js';
import { listOf, timestamp, paging } from '../../platform/http/contract/list.js';

const usd = (description: string) => z.number().describe(`${description} USD.`);
const micros = (description: string) => z.int().describe(`${description} Micro-USD, exact.`);

export const CallStatusSchema = z.enum(CALL_STATUSES).meta({
  id: 'CallStatus',
  description: 'State of the call. COMPLETED, FAILED and CANCELLED are final.',
});

export const CallsQuery = z.object({
  ...paging(),
  status: z
    .enum(CALL_STATUSES, `status must be one of ${CALL_STATUSES.join(', ')}.`)
    .optional()
    .describe('Returns only calls with this status.'),
  direction: z
    .enum(['outbound', 'inbound'], 'direction must be outbound or inbound.')
    .optional()
    .describe('Returns only outbound or only inbound calls.'),
  agent_id: text('agent_id', 255).optional().describe('Returns only calls conducted by this agent.'),
  external_call_id: text('external_call_id', MAX_LENGTHS.externalCallId)
    .optional()
    .describe('Returns only calls with this tracking identifier.'),
  search: text('search', MAX_LENGTHS.search)
    .optional()
    .describe(
      'Returns only calls in which every word occurs: in external_call_id, in the transcript once the call has ended, or as at least four digits of a phone number. A word of three or more letters also finds longer ones that it begins; case and accents do not matter. The first 10 words count. Of a transcript, the first 1,000 different words are found.',
    ),
  from: momentParameter('from', 'Calls created at this time (ISO 8601, UTC) or later.'),
  to: momentParameter('to', 'Calls created before this time.'),
});
export type CallsQuery = z.output<typeof CallsQuery>;

const callId = z.string().describe('Identifier of the call.');
const endReason = z.enum(END_REASONS).optional().describe('Why the call ended. Absent until it has ended.');

const summary = {
  call_id: callId,
  status: CallStatusSchema,
  end_reason: endReason,
  answered_by: z
    .enum(['human', 'voicemail', 'unknown'])
    .optional()
    .describe('Detected kind of answer. Absent while nothing has been detected, and for inbound calls.'),
  mode: z.enum(['live', 'test']).describe('A test call reaches no phone and costs no real money.'),
  ...callParties,
  agent_id: z.string().describe('Identifier of the agent that conducts the call; agent_tmp_… for a temporary one.'),
  agent_name: z
    .string()
    .optional()
    .describe(
      'Name of the agent or draft when the call was requested. Absent if the request brought only an instruction.',
    ),
  external_call_id: z.string().describe('Your own tracking identifier. Empty when none was given, and after erasure.'),
  created_at: timestamp('When the call was requested.'),
  updated_at: timestamp('When the call changed last.'),
  start_time: timestamp('When the call was answered.').optional(),
  end_time: timestamp('When the call ended.').optional(),
  duration_seconds: z.int().optional().describe('Billed seconds.'),
  price_per_minute: usd('Price of a minute, billed by the second; it does not change during the call.'),
  cost: usd('Cost of the call.').optional(),
  cost_micros: micros('Cost of the call.').optional(),
  summary: z.string().optional().describe('Short summary of the conversation. Absent until the call has ended.'),
  has_recording: z.boolean().describe('Whether a recording of the call can be downloaded.'),
  waiting_for: z.enum(['dial_slot']).optional().describe('Why an IDLE call is not dialed yet.'),
  ends_after_seconds: z
    .int()
    .optional()
    .describe('Seconds after the answer at which the balance or the duration limit ends the call.'),
  erased_at: timestamp('When its personal data was erased.').optional(),
};

export const CallSummary = z.object(summary).meta({ id: 'CallSummary' });
export type CallSummary = z.infer<typeof CallSummary>;
export const CallList = listOf(CallSummary, 'CallList');

export const TimelineEvent = z
  .object({
    at: timestamp('When it happened, by the clock of its source.'),
    source: z
      .enum(['call', 'carrier', 'media', 'money', 'webhook'])
      .describe('Part of the service that recorded the event.'),
    event: z.string().describe('Such as RINGING, completed, stream_started, provider_failed, hold, attempt.'),
    sequence: z
      .int()
      .optional()
      .describe('Number of the call’s own changes, or the number that the carrier gave its callback.'),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .optional()
      .describe('Further facts about the event, by name. Absent when there are none.'),
  })
  .meta({ id: 'TimelineEvent' });
export type TimelineEvent = z.infer<typeof TimelineEvent>;

export const CallProvider = z
  .object({
    stage: z
      .enum(['stt', 'llm', 'tts', 'realtime'])
      .describe('Part of the engine: stt, llm and tts of pipeline, or the speech-to-speech model of openai-realtime.'),
    provider: z.string().describe('Protocol of the provider, such as deepgram or openai.'),
    model: z.string().describe('Name of the model at the provider.'),
    number: z.int().describe('1 for the first provider of its stage, 2 and more for an alternative.'),
    from_ms: z.int().describe('When it began to serve, in milliseconds from the start of the audio.'),
  })
  .meta({ id: 'CallProvider' });
export type CallProvider = z.infer<typeof CallProvider>;

export const CostWindow = z
  .object({
    window: z.int().describe('Number of the hold window within the call, from 0.'),
    at: timestamp('When the hold was placed.'),
    held_seconds: z.int().describe('Seconds of the call that the hold pays for.'),
    held_micros: micros('Held amount.'),
    billed_seconds: z.int().optional().describe('Seconds of this window that were billed; absent until the call ends.'),
    billed_micros: micros('Billed part of the held amount.').optional(),
    refusal: z.string().optional().describe('Why the hold was rejected. Absent when it was granted.'),
  })
  .meta({ id: 'CostWindow' });
export type CostWindow = z.infer<typeof CostWindow>;

export const Call = z
  .object({
    ...summary,
    input_parameters: z.string().describe('JSON object encoded as a string.'),
    output_parameters: z.string().optional().describe('The extracted data, as a JSON object encoded as a string.'),
    transcription: z
      .string()
      .optional()
      .describe(
        'Transcript with one turn per line. Absent until the call has ended, when no words were spoken, if the agent keeps no transcript, and after erasure.',
      ),
    recording_url: z
      .string()
      .optional()
      .describe(
        'URL of the WAV file; downloading it requires an API key or session. Absent when there is no recording.',
      ),
    instruction: z.string().optional().describe('Instruction of the agent for this call. Absent after erasure.'),
    voice: z.string().optional().describe('Voice that the agent speaks with. Absent after erasure.'),
    language: z.string().optional().describe('Language tag (BCP 47) of the conversation. Absent after erasure.'),
    webhook_url: z
      .string()
      .optional()
      .describe('URL that receives the completion webhook. Absent when there is none, and after erasure.'),
    max_duration_seconds: z.int().optional().describe('Longest duration of the call after the answer, in seconds.'),
    storage: z
      .enum(STORAGE_MODES)
      .optional()
      .describe('Storage mode of the agent for this call. Absent if it is everything.'),
    redact: z
      .array(z.enum(REDACTED_KINDS))
      .optional()
      .describe('Data that is replaced in the stored words of this call. Absent if none is.'),
    engine: z
      .string()
      .optional()
      .describe(
        'Engine that conducted the conversation. Absent until the call has ended, and when it was not answered.',
      ),
    ignored_settings: z
      .array(z.string())
      .optional()
      .describe(
        'Fields of the agent without effect, because a provider of this call does not support them or the operator no longer allows the model. Absent if there are none, until the call has ended, and after erasure.',
      ),
    served_by: z
      .array(CallProvider)
      .optional()
      .describe(
        'Providers that served the conversation, in the order in which they began to. Absent until the call has ended, for an engine without providers, and after erasure.',
      ),
    carrier_sid: z
      .string()
      .optional()
      .describe('The carrier’s identifier of the call. Absent until the carrier has the call.'),
    workflow_id: z.string().describe('Identifier of the call’s workflow in Temporal, for operators.'),
    timeline: z
      .array(TimelineEvent)
      .describe(
        'Events in causal order. The carrier reports whole seconds, so its events are ordered by when they arrived. Contains only the last 20 webhook attempts.',
      ),
    cost_windows: z.array(CostWindow).describe('Holds placed for the call, in order of their windows.'),
    webhook_attempts: z
      .array(WebhookAttempt)
      .describe('The last 20 attempts to deliver the completion webhook, oldest first.'),
  })
  .meta({ id: 'Call' });
export type Call = z.infer<typeof Call>;

export const Turn = z
  .object({
    speaker: z.enum(['agent', 'caller']).describe('The speaker: the agent or the remote party.'),
    text: z.string().describe('The spoken text.'),
    start_ms: z.number().describe('Milliseconds from the start of the audio.'),
    end_ms: z.number().describe('End of the turn, in milliseconds from the start of the audio.'),
    latency_ms: z
      .number()
      .optional()
      .describe('Milliseconds from the end of the remote party’s turn to this turn of the agent.'),
  })
  .meta({ id: 'Turn' });

export const Transcript = z
  .object({
    call_id: callId,
    turns: z
      .array(Turn)
      .describe(
        'Turns in the order they were spoken. Empty when no words were spoken, after the end of a call whose agent keeps no transcript, and after erasure.',
      ),
    text: z.string().describe('The same as plain text.'),
  })
  .meta({ id: 'Transcript' });
export type Transcript = z.infer<typeof Transcript>;

const LatencyStage = z
  .object({
    stage: z
      .enum(['pause', 'stt', 'llm', 'tts', 'own'])
      .describe(
        'pause: the silence that ends the turn; stt, llm and tts: the providers (a speech-to-speech model counts as llm); own: this service.',
      ),
    ms: z.int().describe('Milliseconds that the response waited for this stage.'),
  })
  .meta({ id: 'LatencyStage' });
export type LatencyStage = z.infer<typeof LatencyStage>;

export const Latency = z
  .object({
    at_ms: z.int().describe('When the response began, in milliseconds from the start of the audio.'),
    total_ms: z.int().describe('Milliseconds from the end of the remote party’s words to the response.'),
    stages: z
      .array(LatencyStage)
      .describe('The parts of the total that the engine knows, in their order. Their sum may be less than the total.'),
  })
  .meta({ id: 'Latency' });
export type Latency = z.infer<typeof Latency>;

export const ToolUse = z
  .object({
    name: z.string().describe('Name of the tool, as the model gave it.'),
    at_ms: z.int().describe('When the model called it, in milliseconds from the start of the audio.'),
    duration_ms: z.int().describe('Milliseconds until the result.'),
    succeeded: z.boolean().describe('Whether the tool returned a result rather than an error.'),
    arguments: z
      .string()
      .describe(
        'The arguments as JSON, up to 1,000 characters; longer ones end with …. For send_dtmf it has digit_count, the number of digits, instead of the digits.',
      ),
    result: z
      .string()
      .describe('The result or the error that the model read, up to 1,000 characters; longer ones end with ….'),
  })
  .meta({ id: 'ToolCall' });
export type ToolUse = z.infer<typeof ToolUse>;

export const Trace = z
  .object({
    call_id: callId,
    latencies: z
      .array(Latency)
      .describe('How long the remote party waited for each response, the first 1,000. Empty after erasure.'),
    tool_calls: z
      .array(ToolUse)
      .describe(
        'The first 100 tool calls that finished, in the order in which they began. Empty after the end of a call whose agent keeps no transcript, and after erasure.',
      ),
  })
  .meta({ id: 'Trace' });
export type Trace = z.infer<typeof Trace>;

const track = (of: string) =>
  z.array(z.int()).describe(`The loudest sample of ${of} in each part, from 0 (silence) to 255.`);

export const CallWaveform = z
  .object({
    call_id: callId,
    duration_ms: z.int().describe('Length of the recording.'),
    caller: track('the remote party'),
    agent: track('the agent'),
  })
  .meta({ id: 'CallWaveform' });
export type CallWaveform = z.infer<typeof CallWaveform>;

/** The conversation of a call in progress, as the events of a watched call contain it. */
export type ConversationSoFar = {
  /** The last turns; those that began before the first of them no longer change. */
  turns: Transcript['turns'];
  /** Words that the speakers are saying, or that may still change; a turn replaces them. */
  interim: { speaker: 'agent' | 'caller'; text: string }[];
  /** The values extracted so far: a JSON object as a string. */
  output_parameters: string;
};

export const CancelResponse = z
  .object({
    call_id: callId,
    result: z
      .enum(['cancelled', 'hung_up'])
      .describe(
        'cancelled: it ended before an answer and costs nothing. hung_up: it had been answered and is COMPLETED.',
      ),
    status: z.enum(['CANCELLED', 'COMPLETED']).describe('Final status of the call.'),
    end_reason: endReason,
  })
  .meta({ id: 'CancelAnswer' });
export type CancelResponse = z.infer<typeof CancelResponse>;

export const EraseResponse = z
  .object({ call_id: callId, erased_at: timestamp('When its personal data was erased.') })
  .meta({ id: 'EraseAnswer' });
export type EraseResponse = z.infer<typeof EraseResponse>;

export const CALL_SUMMARY_EXAMPLE: CallSummary = {
  call_id: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  status: 'COMPLETED',
  end_reason: 'callee_hangup',
  answered_by: 'human',
  mode: 'live',
  call_direction: 'outbound',
  from_phone_number: '+12025550199',
  to_phone_number: '+12025550100',
  agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  agent_name: 'Reminders',
  external_call_id: 'order-4711',
  created_at: '2026-11-21T10:00:00.000Z',
  updated_at: '2026-11-21T10:00:52.000Z',
  start_time: '2026-11-21T10:00:04.000Z',
  end_time: '2026-11-21T10:00:51.000Z',
  duration_seconds: 47,
  price_per_minute: 0.15,
  cost: 0.1175,
  cost_micros: 117_500,
  summary: 'Ms Chen confirmed her appointment.',
  has_recording: true,
};

export const CALL_EXAMPLE: Call = {
  ...CALL_SUMMARY_EXAMPLE,
  input_parameters: '{"customer":"Ms Chen"}',
  output_parameters: '{"confirmed":true}',
  transcription: 'agent: Good morning.\ncaller: Good morning.',
  recording_url: 'https://calls.example.com/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/recording',
  served_by: [
    { stage: 'llm', provider: 'openai', model: 'gpt-6-luna', number: 1, from_ms: 900 },
    { stage: 'llm', provider: 'openai', model: 'my-deployment', number: 2, from_ms: 21_400 },
  ],
  workflow_id: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  timeline: [
    { at: '2026-11-21T10:00:00.120Z', source: 'call', event: 'RINGING', sequence: 1 },
    { at: '2026-11-21T10:00:04.000Z', source: 'carrier', event: 'in-progress', sequence: 1 },
  ],
  cost_windows: [
    {
      window: 0,
      at: '2026-11-21T10:00:00.100Z',
      held_seconds: 60,
      held_micros: 150_000,
      billed_seconds: 47,
      billed_micros: 117_500,
    },
  ],
  webhook_attempts: [ATTEMPT_EXAMPLE],
};
