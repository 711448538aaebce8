import { z } from 'zod';

// The GA protocol of the Realtime API; its beta used other names. Contains only the fields used here. The published
// examples of events contain null in fields that the API's schema only calls optional, so that any field may be null here
// that is not needed.

/** A field that the provider may omit or send as null. */
const fallback = <T extends z.ZodType>(schema: T, absent: z.output<T>) =>
  schema.nullish().transform((given): z.output<T> => given ?? absent);

const text = z.string();
const id = z.string().min(1);
const count = z.number().nullish();
const part = { response_id: id, item_id: id, content_index: fallback(z.number().int().min(0), 0) };

const usage = z.object({
  input_token_details: z
    .object({
      text_tokens: count,
      audio_tokens: count,
      cached_tokens_details: z.object({ text_tokens: count, audio_tokens: count }).nullish(),
    })
    .nullish(),
  output_token_details: z.object({ text_tokens: count, audio_tokens: count }).nullish(),
});

const transcriptionUsage = z.object({
  seconds: count,
  input_tokens: count,
  output_tokens: count,
});

const outputItem = z.object({
  type: text.nullish(),
  name: text.nullish(),
  call_id: text.nullish(),
  arguments: text.nullish(),
});

const response = z.object({
  id,
  status: text.nullish(),
  status_details: z
    .object({ error: z.object({ code: text.nullish(), message: text.nullish(), type: text.nullish() }).nullish() })
    .nullish(),
  metadata: z.record(text, text).nullish(),
  output: fallback(z.array(outputItem), []),
  usage: usage.nullish(),
});

const EVENTS = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.created') }),
  z.object({ type: z.literal('session.updated') }),
  z.object({
    type: z.literal('error'),
    error: z.object({
      type: fallback(text, ''),
      code: text.nullish(),
      event_id: text.nullish(),
      message: text.nullish(),
      param: text.nullish(),
    }),
  }),
  z.object({ type: z.literal('input_audio_buffer.speech_started'), audio_start_ms: z.number(), item_id: id }),
  z.object({ type: z.literal('input_audio_buffer.speech_stopped'), audio_end_ms: z.number(), item_id: id }),
  z.object({ type: z.literal('input_audio_buffer.committed'), item_id: id }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.completed'),
    item_id: id,
    transcript: fallback(text, ''),
    usage: transcriptionUsage.nullish(),
  }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.delta'),
    item_id: id,
    delta: fallback(text, ''),
  }),
  z.object({ type: z.literal('conversation.item.input_audio_transcription.failed'), item_id: id }),
  z.object({ type: z.literal('response.created'), response }),
  z.object({ type: z.literal('response.output_audio.delta'), ...part, delta: text }),
  z.object({ type: z.literal('response.output_audio.done'), ...part }),
  z.object({ type: z.literal('response.output_audio_transcript.delta'), ...part, delta: text }),
  z.object({ type: z.literal('response.output_audio_transcript.done'), ...part, transcript: text }),
  z.object({ type: z.literal('response.done'), response }),
]);

/** An event as the provider sends it, before it is decoded. */
export type SentServerEvent = z.input<typeof EVENTS>;
export type ServerEvent = z.output<typeof EVENTS>;
export type RealtimeResponse = z.output<typeof response>;
export type RealtimeUsage = z.output<typeof usage>;

const KNOWN: ReadonlySet<string> = new Set(EVENTS.options.map((option) => option.shape.type.value));

/** A parsed provider message: a known event, an event not needed here, or invalid data. */
export type ParsedMessage = { kind: 'event'; event: ServerEvent } | { kind: 'ignored' } | { kind: 'garbage' };

export function parseMessage(data: string): ParsedMessage {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return { kind: 'garbage' };
  }
  const { type } = Object(message) as { type?: unknown };
  if (typeof type !== 'string') return { kind: 'garbage' };
  if (!KNOWN.has(type)) return { kind: 'ignored' };
  const parsed = EVENTS.safeParse(message);
  return parsed.success ? { kind: 'event', event: parsed.data } : { kind: 'garbage' };
}

/** G.711 mu-law at 8 kHz, as on the phone. */
interface TelephoneFormat {
  type: 'audio/pcmu';
}

interface FunctionTool {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

interface AutoReply {
  create_response: boolean;
  interrupt_response: boolean;
}

export type TurnDetectionSettings =
  | (AutoReply & { type: 'server_vad'; prefix_padding_ms: number; silence_duration_ms: number; threshold?: number })
  | (AutoReply & { type: 'semantic_vad'; eagerness: 'low' | 'medium' | 'high' | 'auto' });

/** Some models take one language, others a list. Some take a list of terms, others a prompt. */
type TranscriptionSettings = ({ model: string; language: string } | { model: string; languages: string[] }) & {
  keywords?: string[];
  prompt?: string;
};

/** The name of a voice of the provider, or the id of a custom one. */
export type RealtimeVoice = string | { id: string };

/** The settings with which a session starts. */
export interface FullSessionSettings {
  type: 'realtime';
  output_modalities: ['audio'];
  max_output_tokens: number;
  instructions: string;
  tools: FunctionTool[];
  /** Only for models that reason. */
  reasoning?: { effort: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' };
  audio: {
    input: {
      format: TelephoneFormat;
      transcription?: TranscriptionSettings;
      /** Null turns it off. */
      noise_reduction?: { type: 'near_field' | 'far_field' } | null;
      turn_detection: TurnDetectionSettings;
    };
    output: { format: TelephoneFormat; voice: RealtimeVoice; speed?: number };
  };
}

/** The settings that change while a session runs. */
export interface ChangedSessionSettings {
  type: 'realtime';
  audio: { input: { turn_detection: TurnDetectionSettings } };
}

export type ConversationItem =
  | { type: 'message'; role: 'system' | 'user'; content: [{ type: 'input_text'; text: string }] }
  | { type: 'function_call_output'; call_id: string; output: string };

interface ResponseRequest {
  metadata: Record<string, string>;
  tool_choice?: 'none';
  /** Replace the session's instructions for this response. */
  instructions?: string;
}

/** Messages to the provider. */
export type ClientEvent =
  | { type: 'session.update'; event_id?: string; session: FullSessionSettings | ChangedSessionSettings }
  | { type: 'input_audio_buffer.append'; audio: string }
  | { type: 'input_audio_buffer.commit' }
  | { type: 'conversation.item.create'; item: ConversationItem }
  | { type: 'conversation.item.truncate'; item_id: string; content_index: number; audio_end_ms: number }
  | { type: 'response.create'; response: ResponseRequest }
  | { type: 'response.cancel'; response_id: string };

/** Adds a text to the provider's conversation without speaking it. */
export function textItem(role: 'system' | 'user', content: string): ClientEvent {
  return {
    type: 'conversation.item.create',
    item: { type: 'message', role, content: [{ type: 'input_text', text: content }] },
  };
}

export function toolOutputItem(callId: string, output: string): ClientEvent {
  return { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: callId, output } };
}
