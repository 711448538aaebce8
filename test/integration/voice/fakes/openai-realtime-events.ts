import type { ToolCall } from '../../../../src/voice/engines/port.js';
import type { ConversationItem } from '../../../../src/voice/engines/realtime/protocol.js';

interface SpeechPart {
  response_id: string;
  item_id: string;
  output_index: number;
  content_index: number;
}

type ContentPart = { type: 'audio'; transcript: string };

interface SpokenMessage {
  type: 'message';
  role: 'assistant';
  id: string;
  status: 'in_progress' | 'completed';
  content: { type: 'output_audio'; transcript: string }[];
}

interface FunctionCall {
  type: 'function_call';
  id: string;
  name: string;
  call_id: string;
  arguments: string;
}

export type OutputItem = SpokenMessage | FunctionCall;

/** Where an item is in a response. */
interface ItemPlace {
  response_id: string;
  output_index: number;
}

interface FakeResponse {
  object: 'realtime.response';
  id: string;
  status: 'in_progress' | 'completed' | 'cancelled' | 'failed';
  output: OutputItem[];
  metadata: Record<string, string> | null;
  status_details?: typeof FAILED.status_details;
  usage?: typeof USAGE;
}

/**
 * The events of the fake Realtime API, without their `event_id`. `test/provider-types` proves that the official SDK can
 * receive them.
 */
export type FakeServerEvent =
  | { type: 'session.created' | 'session.updated'; session: { type: 'realtime' } }
  | {
      type: 'error';
      error: { type: string; code: string; message: string; param: string | null; event_id: string | null };
    }
  | { type: 'input_audio_buffer.speech_started'; audio_start_ms: number; item_id: string }
  | { type: 'input_audio_buffer.speech_stopped'; audio_end_ms: number; item_id: string }
  | { type: 'input_audio_buffer.committed'; previous_item_id: null; item_id: string }
  | {
      type: 'conversation.item.input_audio_transcription.completed';
      item_id: string;
      content_index: number;
      transcript: string;
      usage: { type: 'tokens'; input_tokens: number; output_tokens: number; total_tokens: number };
    }
  | { type: 'conversation.item.input_audio_transcription.delta'; item_id: string; content_index: number; delta: string }
  | {
      type: 'conversation.item.added' | 'conversation.item.done';
      previous_item_id: null;
      item: ConversationItem | OutputItem;
    }
  | ({ type: 'response.output_item.added' | 'response.output_item.done'; item: OutputItem } & ItemPlace)
  | ({ type: 'response.content_part.added' | 'response.content_part.done'; part: ContentPart } & SpeechPart)
  | ({ type: 'response.function_call_arguments.delta'; item_id: string; call_id: string; delta: string } & ItemPlace)
  | ({
      type: 'response.function_call_arguments.done';
      item_id: string;
      call_id: string;
      name: string;
      arguments: string;
    } & ItemPlace)
  | { type: 'conversation.item.truncated'; item_id: string; content_index: number; audio_end_ms: number }
  | { type: 'response.created' | 'response.done'; response: FakeResponse }
  | ({ type: 'response.output_audio.delta' | 'response.output_audio_transcript.delta'; delta: string } & SpeechPart)
  | ({ type: 'response.output_audio.done' } & SpeechPart)
  | ({ type: 'response.output_audio_transcript.done'; transcript: string } & SpeechPart)
  | {
      type: 'rate_limits.updated';
      rate_limits: { name: 'tokens' | 'requests'; limit: number; remaining: number; reset_seconds: number }[];
    };

/** The usage of every response. */
export const USAGE = {
  total_tokens: 175,
  input_tokens: 100,
  output_tokens: 75,
  input_token_details: {
    text_tokens: 60,
    audio_tokens: 40,
    cached_tokens: 30,
    cached_tokens_details: { text_tokens: 20, audio_tokens: 10 },
  },
  output_token_details: { text_tokens: 15, audio_tokens: 60 },
};

/** The reason of a response that failed. */
export const FAILED = {
  status_details: {
    type: 'failed' as const,
    error: {
      type: 'server_error',
      code: 'server_error',
      message: 'The server had an error while processing your request.',
    },
  },
};

export function responseOf(id: string, metadata: FakeResponse['metadata']): FakeResponse {
  return { object: 'realtime.response', id, status: 'in_progress', output: [], metadata };
}

export function functionCall({ name, arguments: given }: ToolCall, id: string): FunctionCall {
  return { type: 'function_call', id, name, call_id: `call_${id}`, arguments: JSON.stringify(given) };
}

export function spokenMessage(id: string, transcript?: string): SpokenMessage {
  const content = transcript === undefined ? [] : [{ type: 'output_audio' as const, transcript }];
  return {
    type: 'message',
    role: 'assistant',
    id,
    status: transcript === undefined ? 'in_progress' : 'completed',
    content,
  };
}
