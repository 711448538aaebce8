import { z } from 'zod';

// The GA protocol of the Realtime API; its beta used other names. Contains only the fields used here.

const text = z.string();
const id = z.string().min(1);
const count = z.number().optional();
const part = { response_id: id, item_id: id, content_index: z.number().int().min(0).default(0) };

const usage = z.object({
  input_token_details: z
    .object({
      text_tokens: count,
      audio_tokens: count,
      cached_tokens_details: z.object({ text_tokens: count, audio_tokens: count }).optional(),
    })
    .optional(),
  output_token_details: z.object({ text_tokens: count, audio_tokens: count }).optional(),
});

const transcriptionUsage = z.object({
  seconds: count,
  input_tokens: count,
  output_tokens: count,
});

const response = z.object({
  id,
  status: text.optional(),
  metadata: z.record(text, text).nullish(),
  output: z
    .array(z.object({ type: text, name: text.optional(), call_id: text.optional(), arguments: text.optional() }))
    .default([]),
  usage: usage.nullish(),
});

const EVENTS = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.created') }),
  z.object({ type: z.literal('session.updated') }),
  z.object({
    type: z.literal('error'),
    error: z.object({
      type: text.default(''),
      code: text.nullish(),
      event_id: text.nullish(),
      message: text.nullish(),
      param: text.nullish(),
    }),
  }),
  z.object({ type: z.literal('input_audio_buffer.speech_started'), audio_start_ms: z.number(), item_id: id }),
  z.object({ type: z.literal('input_audio_buffer.speech_stopped'), audio_end_ms: z.number(), item_id: id }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.completed'),
    item_id: id,
    transcript: text,
    usage: transcriptionUsage.nullish(),
  }),
  z.object({ type: z.literal('conversation.item.input_audio_transcription.failed'), item_id: id }),
  z.object({ type: z.literal('response.created'), response }),
  z.object({ type: z.literal('response.output_audio.delta'), ...part, delta: text }),
  z.object({ type: z.literal('response.output_audio.done'), ...part }),
  z.object({ type: z.literal('response.output_audio_transcript.delta'), ...part, delta: text }),
  z.object({ type: z.literal('response.output_audio_transcript.done'), ...part, transcript: text }),
  z.object({ type: z.literal('response.done'), response }),
]);

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

/** Messages to the provider. */
export type ClientEvent =
  | { type: 'session.update'; event_id?: string; session: Record<string, unknown> }
  | { type: 'input_audio_buffer.append'; audio: string }
  | { type: 'input_audio_buffer.commit' }
  | { type: 'conversation.item.create'; item: Record<string, unknown> }
  | { type: 'conversation.item.truncate'; item_id: string; content_index: number; audio_end_ms: number }
  | { type: 'response.create'; response?: Record<string, unknown> }
  | { type: 'response.cancel'; response_id?: string };

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
