import type { ToolCall } from '../../../../src/voice/engines/port.js';
import type { ConversationItem } from '../../../../src/voice/engines/realtime/protocol.js';

/** Faults of the provider. A test may change them at any time. */
export interface Nastiness {
  /** Rejects the next `times` upgrades with this status. */
  refuseUpgrades: { status: number; times: number };
  /** How long the upgrade takes. */
  upgradeMs: number;
  /** The provider accepts everything and responds to nothing. */
  hangs: boolean;
  /** Before the next reply to the caller, the provider sends nothing for this long. Applies once. */
  stallMs: number;
  /** The provider closes the socket after this many audio deltas of the next response. Applies once. */
  closeAfterDeltas: number | undefined;
  /** How many times faster than real time the provider sends audio; 0 sends all of it at once. */
  speed: number;
  /** The provider rejects every truncation as too long, as if it had produced less audio than it sent. */
  refusesTruncation: boolean;
  /** The provider does not report the end of a turn, though it answers pings: twilio-samples/speech-assistant-openai-realtime-api-python#6. */
  missesTurnEnds: boolean;
  /** The number of next responses that end as failed. */
  failResponses: number;
  /** The number of next responses that end as failed before they are reported as created. */
  failBeforeCreated: number;
  /** The number of next responses that are empty. */
  emptyResponses: number;
  /** The tool that the provider calls in each response for which the script has no tool call. */
  everCalls?: { name: string; arguments: Record<string, unknown> };
  /** Each response speaks in two items, and not in one. */
  splitsItems: boolean;
  /** Canceled responses end as failed. */
  failsCancelled: boolean;
  /** The provider sends the final transcript of the caller's speech only after the response is done. */
  lateTranscripts: boolean;
  /** The provider rejects a session with transcription: `answers` with an error, or also `closes` the socket. */
  refusesTranscription: 'answers' | 'closes' | undefined;
}

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
  | { type: 'conversation.item.retrieved'; item: ConversationItem | OutputItem }
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
