/**
 * One event of each type that OpenAI's Realtime API sends, with the fields and nulls of its published examples and with
 * other values. Source: `x-oaiMeta.example` of the schemas `RealtimeServerEvent…` in OpenAI's OpenAPI document
 * 2.3.0 of 2026-05-31. `test/provider-types` proves that every type of the official SDK is here.
 */

const SESSION = {
  type: 'realtime',
  object: 'realtime.session',
  id: 'sess_1',
  model: 'gpt-realtime',
  output_modalities: ['audio'],
  instructions: 'Be brief.',
  tools: [],
  tool_choice: 'auto',
  max_output_tokens: 'inf',
  tracing: null,
  prompt: null,
  expires_at: 1_800_000_000,
  audio: {
    input: {
      format: { type: 'audio/pcmu' },
      transcription: null,
      noise_reduction: null,
      turn_detection: {
        type: 'server_vad',
        threshold: 0.5,
        prefix_padding_ms: 300,
        silence_duration_ms: 200,
        idle_timeout_ms: null,
        create_response: true,
        interrupt_response: true,
      },
    },
    output: { format: { type: 'audio/pcmu' }, voice: 'marin', speed: 1 },
  },
  include: null,
} as const;

const RESPONSE = {
  object: 'realtime.response',
  id: 'resp_1',
  status_details: null,
  conversation_id: 'conv_1',
  output_modalities: ['audio'],
  max_output_tokens: 'inf',
  audio: { output: { format: { type: 'audio/pcmu' }, voice: 'marin' } },
  metadata: null,
} as const;

const USAGE = {
  total_tokens: 150,
  input_tokens: 100,
  output_tokens: 50,
  input_token_details: {
    text_tokens: 80,
    audio_tokens: 20,
    image_tokens: 0,
    cached_tokens: 60,
    cached_tokens_details: { text_tokens: 55, audio_tokens: 5, image_tokens: 0 },
  },
  output_token_details: { text_tokens: 10, audio_tokens: 40 },
} as const;

const MESSAGE = { id: 'item_2', type: 'message', status: 'completed', role: 'assistant' } as const;
const PART = { response_id: 'resp_1', item_id: 'item_2', output_index: 0, content_index: 0 } as const;
const FUNCTION_PART = { response_id: 'resp_1', item_id: 'item_3', output_index: 0, call_id: 'call_1' } as const;
const TURN = { item_id: 'item_1', content_index: 0 } as const;

/** Events that the service reads, in the order of a conversation. */
export const READ_EVENTS = [
  { type: 'session.created', event_id: 'event_1', session: SESSION },
  { type: 'session.updated', event_id: 'event_2', session: SESSION },
  { type: 'input_audio_buffer.speech_started', event_id: 'event_3', audio_start_ms: 900, item_id: 'item_1' },
  { type: 'input_audio_buffer.speech_stopped', event_id: 'event_4', audio_end_ms: 2_400, item_id: 'item_1' },
  { type: 'input_audio_buffer.committed', event_id: 'event_5', previous_item_id: null, item_id: 'item_1' },
  {
    type: 'conversation.item.input_audio_transcription.delta',
    event_id: 'event_27',
    ...TURN,
    delta: 'Is this',
    obfuscation: 'x',
  },
  {
    type: 'conversation.item.input_audio_transcription.completed',
    event_id: 'event_6',
    ...TURN,
    transcript: 'Is this the clinic?',
    usage: {
      type: 'tokens',
      total_tokens: 20,
      input_tokens: 12,
      input_token_details: { text_tokens: 0, audio_tokens: 12 },
      output_tokens: 8,
    },
  },
  {
    type: 'conversation.item.input_audio_transcription.failed',
    event_id: 'event_7',
    ...TURN,
    error: { type: 'transcription_error', code: 'audio_unintelligible', message: 'Not transcribed.', param: null },
  },
  {
    type: 'response.created',
    event_id: 'event_8',
    response: { ...RESPONSE, status: 'in_progress', output: [], usage: null },
  },
  { type: 'response.output_audio.delta', event_id: 'event_9', ...PART, delta: '//8=' },
  { type: 'response.output_audio_transcript.delta', event_id: 'event_10', ...PART, delta: 'Yes, it' },
  { type: 'response.output_audio.done', event_id: 'event_11', ...PART },
  { type: 'response.output_audio_transcript.done', event_id: 'event_12', ...PART, transcript: 'Yes, it is.' },
  {
    type: 'response.done',
    event_id: 'event_13',
    response: {
      ...RESPONSE,
      status: 'completed',
      output: [{ ...MESSAGE, content: [{ type: 'output_audio', transcript: 'Yes, it is.' }] }],
      usage: USAGE,
    },
  },
  {
    type: 'error',
    event_id: 'event_14',
    error: { type: 'invalid_request_error', code: 'invalid_event', message: 'No type.', param: null, event_id: 'e_1' },
  },
] as const;

/** Events that the service ignores. */
export const IGNORED_EVENTS = [
  {
    type: 'conversation.created',
    event_id: 'event_20',
    conversation: { id: 'conv_1', object: 'realtime.conversation' },
  },
  { type: 'conversation.item.added', event_id: 'event_21', previous_item_id: null, item: { ...MESSAGE, content: [] } },
  {
    type: 'conversation.item.created',
    event_id: 'event_22',
    previous_item_id: 'item_1',
    item: { ...MESSAGE, content: [] },
  },
  {
    type: 'conversation.item.done',
    event_id: 'event_23',
    previous_item_id: 'item_1',
    item: { ...MESSAGE, content: [{ type: 'output_audio', transcript: 'Yes, it is.' }] },
  },
  { type: 'conversation.item.deleted', event_id: 'event_24', item_id: 'item_1' },
  { type: 'conversation.item.retrieved', event_id: 'event_25', item: { ...MESSAGE, content: [] } },
  { type: 'conversation.item.truncated', event_id: 'event_26', item_id: 'item_2', content_index: 0, audio_end_ms: 700 },
  {
    type: 'conversation.item.input_audio_transcription.segment',
    event_id: 'event_28',
    ...TURN,
    text: 'Is this',
    id: 'seg_1',
    speaker: 'spk_1',
    start: 0,
    end: 0.4,
  },
  { type: 'input_audio_buffer.cleared', event_id: 'event_29' },
  { type: 'input_audio_buffer.dtmf_event_received', event: '9', received_at: 1_800_000_000 },
  {
    type: 'input_audio_buffer.timeout_triggered',
    event_id: 'event_30',
    audio_start_ms: 3_000,
    audio_end_ms: 9_000,
    item_id: 'item_4',
  },
  { type: 'output_audio_buffer.started', event_id: 'event_31', response_id: 'resp_1' },
  { type: 'output_audio_buffer.stopped', event_id: 'event_32', response_id: 'resp_1' },
  { type: 'output_audio_buffer.cleared', event_id: 'event_33', response_id: 'resp_1' },
  {
    type: 'rate_limits.updated',
    event_id: 'event_34',
    rate_limits: [{ name: 'tokens', limit: 40_000, remaining: 39_000, reset_seconds: 1 }],
  },
  {
    type: 'response.output_item.added',
    event_id: 'event_35',
    response_id: 'resp_1',
    output_index: 0,
    item: { ...MESSAGE, object: 'realtime.item', status: 'in_progress', content: [] },
  },
  {
    type: 'response.output_item.done',
    event_id: 'event_36',
    response_id: 'resp_1',
    output_index: 0,
    item: { ...MESSAGE, object: 'realtime.item', content: [] },
  },
  { type: 'response.content_part.added', event_id: 'event_37', ...PART, part: { type: 'audio', transcript: '' } },
  { type: 'response.content_part.done', event_id: 'event_38', ...PART, part: { type: 'audio', transcript: 'Yes.' } },
  { type: 'response.output_text.delta', event_id: 'event_39', ...PART, delta: 'Yes' },
  { type: 'response.output_text.done', event_id: 'event_40', ...PART, text: 'Yes.' },
  { type: 'response.function_call_arguments.delta', event_id: 'event_41', ...FUNCTION_PART, delta: '{"day"' },
  {
    type: 'response.function_call_arguments.done',
    event_id: 'event_42',
    ...FUNCTION_PART,
    name: 'look_up',
    arguments: '{"day":1}',
  },
  { type: 'response.mcp_call_arguments.delta', event_id: 'event_43', ...PART, delta: '{' },
  { type: 'response.mcp_call_arguments.done', event_id: 'event_44', ...PART, arguments: '{}' },
  { type: 'response.mcp_call.in_progress', event_id: 'event_45', output_index: 0, item_id: 'mcp_1' },
  { type: 'response.mcp_call.completed', event_id: 'event_46', output_index: 0, item_id: 'mcp_1' },
  { type: 'response.mcp_call.failed', event_id: 'event_47', output_index: 0, item_id: 'mcp_1' },
  { type: 'mcp_list_tools.in_progress', event_id: 'event_48', item_id: 'mcp_2' },
  { type: 'mcp_list_tools.completed', event_id: 'event_49', item_id: 'mcp_2' },
  { type: 'mcp_list_tools.failed', event_id: 'event_50', item_id: 'mcp_2' },
] as const;
