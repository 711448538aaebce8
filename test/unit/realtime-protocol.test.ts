import { parseMessage } from '../../src/voice/engines/realtime/protocol.js';
import { createProviderTurns } from '../../src/voice/engines/realtime/provider-turns.js';
import { createResponses } from '../../src/voice/engines/realtime/responses.js';
import type { ClientEvent, RealtimeResponse } from '../../src/voice/engines/realtime/protocol.js';
import type { SessionEventBody } from '../../src/voice/session/reducer/events.js';
import { IGNORED_EVENTS, READ_EVENTS } from '../integration/voice/fakes/published-realtime-events';

const parsed = (event: object) => parseMessage(JSON.stringify(event));

/** Returns variants of a value; in each, one of its fields with a value of null, at any depth, is replaced. */
function withFieldNull(value: unknown, mayBeNull: (name: string) => boolean): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => withFieldNull(item, mayBeNull).map((other) => value.with(at, other)));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => [
    ...(mayBeNull(name) ? [{ ...value, [name]: null }] : []),
    ...withFieldNull(field, mayBeNull).map((other) => ({ ...value, [name]: other })),
  ]);
}

describe('the published events of the Realtime API', () => {
  it.each(READ_EVENTS.map((event) => [event.type, event] as const))('decodes %s', (type, event) => {
    expect(parsed(event)).toMatchObject({ kind: 'event', event: { type } });
  });

  it.each(IGNORED_EVENTS.map((event) => [event.type, event] as const))('ignores %s', (_, event) => {
    expect(parsed(event)).toEqual({ kind: 'ignored' });
  });

  it('decodes what the service uses of a response', () => {
    const done = READ_EVENTS.find(({ type }) => type === 'response.done');
    expect(parsed(done ?? {})).toMatchObject({
      event: {
        response: {
          id: 'resp_1',
          status: 'completed',
          output: [{ type: 'message' }],
          usage: {
            input_token_details: { text_tokens: 80, cached_tokens_details: { audio_tokens: 5 } },
            output_token_details: { text_tokens: 10, audio_tokens: 40 },
          },
        },
      },
    });
  });

  it('are valid with null in any field that the service can do without', () => {
    const needed = /^(type|response|item_id|response_id|id|delta|transcript|error|audio_start_ms|audio_end_ms)$/;
    const variants = READ_EVENTS.flatMap((event) => withFieldNull(event, (name) => !needed.test(name)));
    expect(variants.length).toBeGreaterThan(60);
    expect(variants.filter((event) => parsed(event as object).kind !== 'event')).toEqual([]);
  });

  it.each([
    ['the type of an error', { type: 'error', error: { type: null, message: 'x' } }],
    [
      'the words of a turn',
      { type: 'conversation.item.input_audio_transcription.completed', item_id: 'i', transcript: null },
    ],
    [
      'the arguments of a tool call',
      {
        type: 'response.done',
        response: { id: 'r', output: [{ type: 'function_call', name: null, call_id: null, arguments: null }] },
      },
    ],
  ])('are valid with null for %s', (_, event) => {
    expect(parsed(event)).toMatchObject({ kind: 'event', event: { type: event.type } });
  });
});

describe('a turn of the caller', () => {
  function listen() {
    const events: SessionEventBody[] = [];
    const turns = createProviderTurns((event) => void events.push(event));
    for (let at = 0; at < 2_000; at += 20) turns.onFrameSent(at);
    return { turns, texts: () => events.flatMap((event) => (event.type === 'turn_words' ? [event.text] : [])) };
  }

  it('keeps its words if a manual commit gives its item another id', () => {
    const { turns, texts } = listen();
    turns.started('item_1', 500);
    turns.committed('item_2');
    turns.onTranscript('item_2', 'Goodbye.');
    expect(texts()).toEqual(['Goodbye.']);
    expect(turns.isWaiting()).toBe(false);
  });

  it('does not take the words of an earlier turn', () => {
    const { turns, texts } = listen();
    turns.started('item_1', 100);
    turns.stopped('item_1', 400);
    turns.committed('item_1');
    turns.started('item_2', 900);
    turns.committed('item_3');
    turns.onTranscript('item_3', 'Second.');
    turns.onTranscript('item_1', 'First.');
    expect(texts()).toEqual(['Second.', 'First.']);
  });

  it('has its time by the timestamps of the last 20 s only, so that jumps of timestamps do not fill the memory', () => {
    const events: SessionEventBody[] = [];
    const turns = createProviderTurns((event) => void events.push(event));
    for (let frame = 0; frame < 1_100; frame++) turns.onFrameSent(frame * 50);
    turns.started('item_1', 21_000);
    turns.started('item_2', 0);
    // Frames are 30 ms apart beyond their length of 20 ms. The hundredth is the oldest whose time is known.
    expect(events).toMatchObject([{ startMs: 1_050 * 50 }, { startMs: 100 * 30 }]);
  });
});

describe('a response that ends before the provider reported its creation', () => {
  const REPLY = { kind: 'reply', id: 'reply_1' } as const;
  const failed = (metadata: Record<string, string> | null): RealtimeResponse => ({
    id: 'resp_1',
    status: 'failed',
    metadata,
    output: [],
    usage: null,
  });

  function request() {
    const sent: ClientEvent[] = [];
    const responses = createResponses({ send: (event) => void sent.push(event), now: () => 0, isReady: () => true });
    responses.request(REPLY);
    const [event] = sent;
    if (event?.type !== 'response.create') throw new Error('no response was requested');
    return { responses, sent, metadata: event.response.metadata };
  }

  it('answers the request, so that the next one is sent', () => {
    const { responses, sent, metadata } = request();
    expect(responses.done(failed(metadata))).toEqual({ purpose: REPLY, hasAudio: false });
    expect(responses.isFree()).toBe(true);
    responses.request(REPLY);
    expect(sent.map(({ type }) => type)).toEqual(['response.create', 'response.create']);
  });

  it('answers the request even if the provider returns no metadata', () => {
    const { responses } = request();
    expect(responses.done(failed(null))).toEqual({ purpose: REPLY, hasAudio: false });
  });

  it('reports nothing if the request was canceled meanwhile', () => {
    const { responses, metadata } = request();
    responses.cancel(REPLY.id);
    expect(responses.done(failed(metadata))).toBeUndefined();
    expect(responses.isFree()).toBe(true);
  });

  it('leaves the request open if another response has ended', () => {
    const { responses } = request();
    responses.created({ ...failed({ purpose: 'other' }), id: 'resp_0', status: 'in_progress' });
    expect(responses.done(failed(null))).toBeUndefined();
    expect(responses.current()?.purpose.id).toBe('resp_0');
  });
});
