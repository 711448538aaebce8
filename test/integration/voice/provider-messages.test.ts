import { Agent } from 'undici';
import { createResponsesModel } from '../../../src/voice/engines/pipeline/llm/openai-responses.js';
import { createChatModel } from '../../../src/voice/engines/pipeline/llm/chat-completions.js';
import type { ChatDelta, ChatModel } from '../../../src/voice/engines/pipeline/ports.js';
import { createDeepgramStt } from '../../../src/voice/engines/pipeline/stt/deepgram/index.js';
import { createElevenLabsTts } from '../../../src/voice/engines/pipeline/tts/elevenlabs/elevenlabs-tts.js';
import { openProviderConnection } from '../../../src/voice/engines/realtime/connection.js';
import type { FullSessionSettings, ServerEvent } from '../../../src/voice/engines/realtime/protocol.js';
import { openLoopback, type Loopback } from './fakes/loopback';
import { IGNORED_EVENTS, READ_EVENTS } from './fakes/published-realtime-events';
import { eventually } from './support/media-fixture';

// The types of the official SDKs, which test/provider-types compares with the decoders, say which fields may be absent.
describe('the messages of a provider that omits fields or sends them as null', () => {
  let loopback: Loopback;
  let told: string[];
  const tell = (text: string) => void told.push(text);
  beforeEach(() => (told = []));
  afterEach(() => loopback.close());

  /** Starts a provider that sends these messages as soon as the client connects. */
  async function provider(messages: readonly object[]): Promise<string> {
    loopback = await openLoopback({
      onSocket: (socket) => messages.forEach((message) => socket.send(JSON.stringify(message))),
    });
    return `ws://127.0.0.1:${loopback.port}`;
  }

  async function transcribe(model: string, messages: readonly object[]): Promise<void> {
    const account = { baseUrl: await provider(messages), apiKey: 'key', model };
    const stream = createDeepgramStt(account).open(
      { language: 'en-US', settings: {} },
      {
        onInterim: tell,
        onProbableEnd: () => undefined,
        onEnd: (text) => tell(`end: ${text}`),
        onTurnContinued: () => undefined,
        onActivity: () => undefined,
        onLost: ({ message }) => tell(message),
      },
    );
    await eventually(() => told.some((text) => /^(end|the)/.test(text)));
    stream.close();
  }

  it('are read for a realtime session, which ignores all events that it does not need', async () => {
    const [created, updated, ...events] = READ_EVENTS;
    const url = await provider([created, updated, ...IGNORED_EVENTS, ...events]);
    const handlers = {
      onReady: () => tell('ready'),
      onEvent: ({ type }: ServerEvent) => tell(type),
      onLost: tell,
      onRejected: () => tell('rejected'),
    };
    const connection = openProviderConnection({ url, apiKey: 'key', session: {} as FullSessionSettings, handlers });
    await eventually(() => told.includes('error'));
    connection.close();
    expect(told).toEqual(['session.created', 'ready', ...events.map(({ type }) => type)]);
  });

  it('are read for speech to text with Nova', async () => {
    const channel = { alternatives: [{ transcript: 'Yes.', confidence: 1, words: [] }] };
    await transcribe('nova-3', [
      { type: 'Results', start: 0, duration: 1, channel: { alternatives: [] } },
      { type: 'Results', start: 0, duration: 1, speech_final: null, channel },
      { type: 'Results', start: null, duration: null, is_final: true, channel },
      { type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 },
    ]);
    expect(told).toEqual(['Yes.', 'Yes.', 'end: Yes.']);
  });

  it('are read for speech to text with Flux', async () => {
    await transcribe('flux-general-en', [
      { type: 'Connected', request_id: 'r', sequence_id: 0 },
      { type: 'TurnInfo', event: 'StartOfTurn', turn_index: null, transcript: null },
      { type: 'TurnInfo', event: 'Update', turn_index: 0, transcript: 'Yes' },
      { type: 'TurnInfo', event: 'EndOfTurn', turn_index: 0, transcript: 'Yes.', trigger: 'model' },
    ]);
    expect(told).toEqual(['Yes', 'end: Yes.']);
  });

  it('are read for text to speech', async () => {
    const audio = Buffer.alloc(160, 0xff).toString('base64');
    const baseUrl = await provider([
      {
        contextId: 'u1',
        audio,
        alignment: { charStartTimesMs: null, charDurationsMs: null, chars: null },
        normalizedAlignment: null,
      },
      { contextId: 'u1', audio, alignment: null, isFinal: null },
      { contextId: 'u1', audio, normalizedAlignment: { chars: ['t', 'e', 'n'] }, error: null, code: null },
      { contextId: 'u2', audio },
      { contextId: 'u1', audio: null, isFinal: true },
    ]);
    const account = { baseUrl, apiKey: 'key', model: 'eleven_flash_v2_5', voiceIdOf: () => 'voice' };
    const stream = createElevenLabsTts(account).open(
      { voice: 'amber', language: 'en-US', settings: {} },
      {
        onAudio: (mulaw) => tell(`${mulaw.length} bytes`),
        onSpoken: tell,
        onDone: () => tell('done'),
        onLost: ({ message }) => tell(message),
      },
    );
    await eventually(() => told.some((text) => /^(done|the)/.test(text)));
    stream.cancel();
    expect(told).toEqual(['160 bytes', '160 bytes', '160 bytes', 'ten', 'done']);
  });

  /** Returns the reply of a language model that answers every request with these events. */
  async function replyOf(
    create: (account: { baseUrl: string; apiKey: string; model: string }, deps: { dispatcher: Agent }) => ChatModel,
    events: readonly object[],
  ): Promise<ChatDelta[]> {
    loopback = await openLoopback({
      onRequest(_, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
      },
    });
    const dispatcher = new Agent();
    const account = { baseUrl: `http://127.0.0.1:${loopback.port}/v1`, apiKey: 'key', model: 'any' };
    const question = { messages: [], tools: [], mayCallTools: true, signal: AbortSignal.timeout(5_000) };
    const deltas: ChatDelta[] = [];
    try {
      for await (const delta of create(account, { dispatcher }).stream(question)) deltas.push(delta);
    } finally {
      await dispatcher.close();
    }
    return deltas;
  }

  it('are read for a language model with responses', async () => {
    const search = { type: 'tool_search_call', id: 's', call_id: null, arguments: { query: 'x' } };
    const call = { type: 'function_call', id: 'f', call_id: 'c', name: 'look_up', arguments: '{}' };
    const events = [
      { type: 'response.created', response: { id: 'r', usage: null } },
      { type: 'response.output_item.done', output_index: 0, item: search },
      { type: 'response.output_item.done', output_index: 1, item: call },
      { type: 'response.completed', response: { id: 'r', error: null, usage: null } },
    ];
    expect(await replyOf(createResponsesModel, events)).toEqual([
      { kind: 'tool', request: { id: 'c', name: 'look_up', arguments: '{}' } },
    ]);
  });

  it('are read for a language model with chat completions', async () => {
    const events = [
      { choices: null },
      { choices: [{ index: 0, delta: null, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: 'Yes.', tool_calls: null } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ index: null, id: 'c', type: 'function', function: null }] } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ function: { name: 'look_up', arguments: '{}' } }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: null },
    ];
    expect(await replyOf(createChatModel, events)).toEqual([
      { kind: 'text', text: 'Yes.' },
      { kind: 'arguments', text: '{}' },
      { kind: 'tool', request: { id: 'c', name: 'look_up', arguments: '{}' } },
    ]);
  });
});
