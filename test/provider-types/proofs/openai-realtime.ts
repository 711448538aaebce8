import type { RealtimeClientEvent, RealtimeServerEvent } from 'openai/resources/realtime/realtime';
import type { ClientEvent, SentServerEvent } from '../../../src/voice/engines/realtime/protocol.js';
import type { FakeServerEvent } from '../../integration/voice/fakes/openai-realtime-events.js';
import type { IGNORED_EVENTS, READ_EVENTS } from '../../integration/voice/fakes/published-realtime-events.js';
import type { Nothing, Reads, Sends } from './compare.js';

/**
 * The SDK declares every field of a response as optional. Its `id` is needed to relate the events of a response, and all
 * published examples have it.
 */
type Identified<T> = T extends { response: infer R } ? Omit<T, 'response'> & { response: R & { id: string } } : T;

type ReadByUs = Identified<Extract<RealtimeServerEvent, { type: SentServerEvent['type'] }>>;

/**
 * The SDK's comments say that null turns noise reduction off (`RealtimeAudioConfigInput`, `SessionUpdateEvent`), but its
 * type of the field has no null.
 */
type WithoutNull<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]: K extends 'noise_reduction' ? Exclude<T[K], null> : WithoutNull<T[K]> }
    : T;

export type Requests = Nothing<Sends<WithoutNull<ClientEvent>, RealtimeClientEvent>>;
export type Events = Nothing<Reads<ReadByUs, SentServerEvent>>;
export type EventsWithoutType = Nothing<Exclude<SentServerEvent['type'], RealtimeServerEvent['type']>>;

type Published = (typeof READ_EVENTS)[number]['type'] | (typeof IGNORED_EVENTS)[number]['type'];
export type UnpublishedEvents = Nothing<Exclude<RealtimeServerEvent['type'], Published>>;
export type UnreadEvents = Nothing<Exclude<SentServerEvent['type'], (typeof READ_EVENTS)[number]['type']>>;

export type FakeEvents = Nothing<Sends<FakeServerEvent & { event_id: string }, RealtimeServerEvent>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error The value is wrong.
  Sends<{ type: 'input_audio_buffer.append'; audio: Uint8Array }, RealtimeClientEvent>,
  // @ts-expect-error A field is missing.
  Sends<{ type: 'conversation.item.truncate'; item_id: string }, RealtimeClientEvent>,
  // @ts-expect-error The field belongs to the beta protocol.
  Nothing<Sends<{ type: 'session.update'; session: { type: 'realtime'; voice: string } }, RealtimeClientEvent>>,
  // @ts-expect-error The decoder requires a field that may be absent.
  Reads<Extract<RealtimeServerEvent, { type: 'response.done' }>, { response: { status: string } }>,
  // @ts-expect-error The decoder reads a misspelled field.
  Nothing<Reads<ReadByUs, { type: string; itemId?: string }>>,
  // @ts-expect-error The event has no type that the SDK knows.
  Nothing<Exclude<'response.finished', RealtimeServerEvent['type']>>,
];
