import type { ToolCall } from '../../../../src/voice/engines/port.js';
import type { ConversationItem } from '../../../../src/voice/engines/realtime/protocol.js';

interface SpeechPart {
  response_id: string;
  item_id: string;
  output_index: number;
  content_index: number;
}

interface FunctionCall {
  type: 'function_call';
  name: string;
  call_id: string;
  arguments: string;
}

interface FakeResponse {
  object: 'realtime.response';
  id: string;
  status: 'in_progress' | 'completed' | 'cancelled' | 'failed';
  output: FunctionCall[];
  metadata: Record<string, string> | null;
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
  | { type: 'conversation.item.added'; previous_item_id: null; item: ConversationItem }
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

export function responseOf(id: string, metadata: FakeResponse['metadata']): FakeResponse {
  return { object: 'realtime.response', id, status: 'in_progress', output: [], metadata };
}

export function functionCall({ name, arguments: given }: ToolCall, callId: string): FunctionCall {
  return { type: 'function_call', name, call_id: callId, arguments: JSON.stringify(given) };
}
