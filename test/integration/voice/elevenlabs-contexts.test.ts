import { WebSocket } from 'ws';
import {
  SilentProviderError,
  type CallTts,
  type ProviderError,
  type TtsOptions,
} from '../../../src/voice/engines/pipeline/ports.js';
import {
  createElevenLabsTts,
  type ElevenLabsAccount,
} from '../../../src/voice/engines/pipeline/tts/elevenlabs/elevenlabs-tts.js';
import { openFakeElevenLabs, type FakeElevenLabs } from './fakes/elevenlabs';
import { eventually } from './support/media-fixture';

const OPTIONS: TtsOptions = { voice: 'amber', language: 'en', settings: {} };
const TIMEOUT_MS = 400;

let fake: FakeElevenLabs;
let call: CallTts;
beforeEach(async () => {
  fake = await openFakeElevenLabs();
  call = callTts();
});
afterEach(async () => {
  call.close();
  await fake.close();
  expect(fake.invalid).toEqual([]);
});

function callTts(changes: Partial<ElevenLabsAccount> = {}): CallTts {
  const account = { baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'tts-key', model: 'test-voice-v2_5' };
  const tts = createElevenLabsTts(
    { ...account, voiceIdOf: () => 'voice-amber', ...changes },
    { timeoutMs: TIMEOUT_MS },
  );
  return tts.forCall?.() ?? fail();
}

function fail(): never {
  throw new Error('ElevenLabs has no connection for a call');
}

/** Opens an utterance, and says the texts. */
function speak(texts: readonly string[], { of = call, finishes = true } = {}) {
  const told = {
    words: [] as string[],
    bytes: 0,
    done: false,
    lost: undefined as ProviderError | undefined,
    again: [] as string[],
  };
  const stream = of.open(OPTIONS, {
    onAudio: (mulaw) => void (told.bytes += mulaw.length),
    onSpoken: (words) => void told.words.push(words),
    onDone: () => void (told.done = true),
    onReconnected: (_, again) => void told.again.push(again),
    onLost: (error) => void (told.lost = error),
  });
  for (const text of texts) stream.say(text);
  if (finishes) stream.finish();
  return { told, stream };
}

const spoken = ({ told }: ReturnType<typeof speak>) => told.words.join('');

describe('TTS of ElevenLabs', () => {
  it('speaks all utterances of a call on one socket, each in a context that it closes', async () => {
    for (const text of ['At ten sharp.', 'Goodbye.']) {
      const utterance = speak([text]);
      await eventually(() => utterance.told.done);
      expect(spoken(utterance)).toBe(`${text} `);
    }
    expect(fake.urls).toHaveLength(1);
    expect(fake.received).toEqual(['text u1', 'text u1', 'close u1', 'text u2', 'text u2', 'close u2']);
    call.close();
    await eventually(() => fake.openSockets() === 0);
  });

  it('reports the characters of all audio, piece by piece', async () => {
    const { told } = speak(['At ten sharp.']);
    await eventually(() => told.done);
    expect(told.words).toEqual(['At te', 'n sha', 'rp. ']);
    expect(told.bytes).toBe(14 * 50 * 8);
  });

  it('closes a context only when its last text has audio, because otherwise the text may be lost', async () => {
    fake.delayMs = 100;
    const { told } = speak(['The first.', 'The second.']);
    await eventually(() => told.done);
    expect(told.words.join('')).toBe('The first. The second. ');
  });

  it('keeps the utterances of a call apart', async () => {
    fake.pieceDelayMs = 5;
    const [one, two] = [speak(['One, two, three, four.']), speak(['Five, six, seven.'])];
    await eventually(() => one.told.done && two.told.done);
    expect([spoken(one), spoken(two)]).toEqual(['One, two, three, four. ', 'Five, six, seven. ']);
    expect(fake.urls).toHaveLength(1);
  });

  it('closes the context of an interrupted utterance, and ignores the audio that still comes', async () => {
    fake.pieceDelayMs = 20;
    const interrupted = speak(['A long story that nobody wants to hear to its end.']);
    await eventually(() => interrupted.told.bytes > 0);
    interrupted.stream.cancel();
    const { bytes } = interrupted.told;
    const next = speak(['Yes?']);
    await eventually(() => next.told.done);
    expect(fake.received.filter((message) => message === 'close u1')).toHaveLength(1);
    expect(interrupted.told).toMatchObject({ bytes, done: false, lost: undefined });
    expect(fake.urls).toHaveLength(1);
  });

  it('opens no context for an utterance without text', async () => {
    for (let count = 0; count < 7; count += 1) speak([], { finishes: false }).stream.cancel();
    const empty = speak([]);
    await eventually(() => empty.told.done);
    const utterance = speak(['Hello.']);
    await eventually(() => utterance.told.done);
    expect(fake.mostContexts).toBe(1);
    expect(fake.received).toHaveLength(3);
  });

  it('never has more than five contexts on a socket, however often it is interrupted', async () => {
    fake.pieceDelayMs = 30;
    for (let count = 0; count < 12; count += 1) {
      const { told, stream } = speak(['A long story that goes on and on and on.']);
      await eventually(() => told.bytes > 0);
      stream.cancel();
    }
    const last = speak(['At last.']);
    await eventually(() => last.told.done);
    expect(fake.mostContexts).toBeLessThanOrEqual(5);
    expect(last.told.lost).toBeUndefined();
  });

  it.each(['keeps its socket', 'has another socket'])(
    'speaks again after a pause in which the provider ended the socket, unless it %s',
    async (which) => {
      const before = speak(['Before.']);
      await eventually(() => before.told.done);
      if (which === 'has another socket') {
        fake.endIdleSockets();
        await eventually(() => fake.openSockets() === 0);
      }
      const after = speak(['After.']);
      await eventually(() => after.told.done);
      expect(after.told).toMatchObject({ again: [], lost: undefined });
      expect(fake.urls).toHaveLength(which === 'keeps its socket' ? 1 : 2);
    },
  );

  it('speaks the rest on another socket if the socket breaks in mid-sentence, once', async () => {
    let faults = 1;
    fake.faultOf = () => (faults-- > 0 ? { kind: 'cut', afterMs: 500 } : undefined);
    const utterance = speak(['The first sentence.', 'The second sentence.']);
    await eventually(() => utterance.told.done);
    // "The first " was spoken.
    expect(utterance.told.again).toEqual(['sentence. The second sentence. ']);
    expect(spoken(utterance)).toBe('The first sentence. The second sentence. ');

    faults = 2;
    const lost = speak(['The first sentence is long enough for two faults.']);
    await eventually(() => lost.told.lost !== undefined);
    expect(lost.told.lost?.message).toBe('the text-to-speech provider closed the connection with code 1011');
    expect(lost.told.again).toHaveLength(1);
  });

  it('begins at the start of a word that was cut, and reports its characters once', async () => {
    let faults = 1;
    fake.faultOf = () => (faults-- > 0 ? { kind: 'cut', afterMs: 250 } : undefined);
    const utterance = speak(['Wonderful weather.']);
    await eventually(() => utterance.told.done);
    expect(utterance.told.again).toEqual(['Wonderful weather. ']);
    expect(spoken(utterance)).toBe('Wonderful weather. ');
  });

  it('leaves a broken socket to the chain if it does not know the words of the audio', async () => {
    fake.alignment = false;
    fake.faultOf = () => ({ kind: 'cut', afterMs: 250 });
    const { told } = speak(['Wonderful weather.']);
    await eventually(() => told.lost !== undefined);
    expect(told.again).toEqual([]);
  });

  it('says that the text may be the cause if there is no audio for it, also after other texts', async () => {
    fake.faultOf = (text) => (text === '…' ? { kind: 'stall' } : undefined);
    const { told, stream } = speak(['Hello?'], { finishes: false });
    await eventually(() => told.words.join('') === 'Hello? ');
    stream.say('…');
    await eventually(() => told.lost !== undefined);
    expect(told.lost).toBeInstanceOf(SilentProviderError);
  });

  it('says so also if the audio of an earlier text comes after that text was sent', async () => {
    fake.faultOf = (text) => (text === '…' ? { kind: 'stall' } : undefined);
    const { told } = speak(['Hello?', '…']);
    await eventually(() => told.lost !== undefined);
    expect(told.words.join('')).toBe('Hello? ');
    expect(told.lost).toBeInstanceOf(SilentProviderError);
  });

  it('has another socket for the next attempt after a stall', async () => {
    let faults = 1;
    fake.faultOf = () => (faults-- > 0 ? { kind: 'stall' } : undefined);
    const stalled = speak(['Hello?']);
    await eventually(() => stalled.told.lost !== undefined);
    expect(stalled.told.lost?.message).toBe(`the text-to-speech provider sent nothing for ${TIMEOUT_MS} ms`);
    const again = speak(['Hello?']);
    await eventually(() => again.told.done);
    expect(fake.urls).toHaveLength(2);
  });

  it.each([
    ['key', { apiKey: 'other-key' }, 'invalid_api_key', 'Invalid API key'],
    ['voice', { voiceIdOf: () => 'voice-gone' }, 'voice_not_found', 'A voice with voice_id voice-gone was not found.'],
    ['model', { model: 'eleven_gone' }, 'model_not_found', 'A model with model ID eleven_gone does not exist.'],
  ])('ends with the reason if the %s is wrong, without another attempt', async (_, changes, code, message) => {
    const of = callTts(changes);
    const { told } = speak(['My name is Anna.'], { of });
    await eventually(() => told.lost !== undefined);
    expect(told.lost?.message).toBe(`the text-to-speech provider reported ${code}`);
    expect(told.lost?.report).toEqual({ provider: 'elevenlabs', code, requestId: 'kW3bQ1', message });
    expect(fake.urls).toHaveLength(1);
    of.close();
  });

  it('leaves a rejected socket to the chain, with the time to wait', async () => {
    fake.refusals.push(429);
    const { told } = speak(['Hello.']);
    await eventually(() => told.lost !== undefined);
    expect(told.lost?.report).toMatchObject({ status: 429, code: 'too_many_concurrent_requests' });
    expect(told.again).toEqual([]);
  });
});

describe('the fake of ElevenLabs', () => {
  async function connect() {
    const url = `ws://127.0.0.1:${fake.port}/v1/text-to-speech/voice-amber/multi-stream-input?model_id=test-voice-v2_5`;
    const socket = new WebSocket(url, { headers: { 'xi-api-key': 'tts-key' } });
    const answers: Record<string, unknown>[] = [];
    let closedWith: number | undefined;
    socket.on('message', (data: Buffer) => answers.push(JSON.parse(data.toString('utf8')) as (typeof answers)[number]));
    socket.on('close', (code) => (closedWith = code));
    await new Promise((resolve) => socket.on('open', resolve));
    const send = (message: object) => socket.send(JSON.stringify(message));
    return { socket, answers, send, closedWith: () => closedWith };
  }

  it('speaks nothing without a flush, and loses text that is not flushed when the context is closed', async () => {
    const { answers, send, socket } = await connect();
    send({ text: ' ', context_id: 'a' });
    send({ text: 'At ten sharp. ', context_id: 'a' });
    send({ context_id: 'a', close_context: true });
    await eventually(() => answers.length > 0);
    expect(answers).toEqual([{ isFinal: true, contextId: 'a' }]);
    socket.terminate();
  });

  it('sends no final message before the context is closed', async () => {
    const { answers, send, socket } = await connect();
    send({ text: ' ', context_id: 'a' });
    send({ text: 'At ten. ', context_id: 'a', flush: true });
    await eventually(() => answers.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answers.map(({ isFinal }) => isFinal)).toEqual([undefined, undefined]);
    send({ context_id: 'a', close_context: true });
    await eventually(() => answers.length === 3);
    expect(answers.at(-1)).toEqual({ isFinal: true, contextId: 'a' });
    socket.terminate();
  });

  it('ends a socket with a sixth context', async () => {
    const { answers, send, closedWith } = await connect();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) send({ text: ' ', context_id: id });
    await eventually(() => closedWith() === 1008);
    expect(answers).toEqual([expect.objectContaining({ error: 'max_active_conversations', code: 1008 })]);
  });
});
