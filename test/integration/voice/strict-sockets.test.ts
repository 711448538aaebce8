import { WebSocket } from 'ws';
import { tone } from '../../support/spoken';
import { createDeepgramStt } from '../../../src/voice/engines/pipeline/stt/deepgram.js';
import { createElevenLabsTts } from '../../../src/voice/engines/pipeline/tts/elevenlabs.js';
import type { ProviderError } from '../../../src/voice/engines/pipeline/ports.js';
import { openFakeDeepgram, type FakeDeepgram } from './fakes/deepgram';
import { openFakeElevenLabs, type FakeVoice } from './fakes/voices';
import { eventually } from './support/media-fixture';

const FRAME_BYTES = 160;

describe('a stream of Deepgram', () => {
  let fake: FakeDeepgram;
  let ends: string[];
  let losses: ProviderError[];
  beforeEach(async () => {
    fake = await openFakeDeepgram();
    [ends, losses] = [[], []];
  });
  afterEach(() => fake.close());

  function account(model: string) {
    return createDeepgramStt({ baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'stt-key', model });
  }

  function open(stt: ReturnType<typeof createDeepgramStt>) {
    return stt.open(
      { language: 'en-US', settings: {} },
      {
        onInterim: () => undefined,
        onProbableEnd: () => undefined,
        onTurnContinued: () => undefined,
        onEnd: (text) => void ends.push(text),
        onActivity: () => undefined,
        onLost: (error) => void losses.push(error),
      },
    );
  }

  function speakTo(stream: ReturnType<typeof open>): void {
    const audio = tone(440, 600);
    for (let at = 0; at < audio.length; at += FRAME_BYTES) stream.push(audio.subarray(at, at + FRAME_BYTES));
  }

  it('of Flux ends its turn when asked', async () => {
    fake.script(['Yes.']);
    const stream = open(account('flux-general-en'));
    speakTo(stream);
    stream.finalize();
    await eventually(() => ends.length > 0);
    stream.close();
    expect([ends, losses]).toEqual([['Yes.'], []]);
  });

  it('of a deployment that cannot end turns is asked only once', async () => {
    fake.endsTurns = false;
    const stt = account('flux-general-en');
    open(stt).finalize();
    await eventually(() => losses.length > 0);
    expect(losses[0]?.report).toMatchObject({ provider: 'deepgram', code: 'UNPARSABLE_CLIENT_MESSAGE' });
    const second = open(stt);
    speakTo(second);
    second.finalize();
    await eventually(() => fake.urls.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    second.close();
    expect(losses).toHaveLength(1);
    expect(fake.controls.filter((type) => type === 'ForceEndTurn')).toHaveLength(1);
  });

  it('of Nova answers a finalization with the words so far', async () => {
    fake.script(['Yes.']);
    const interims: string[] = [];
    const stream = account('nova-3').open(
      { language: 'en-US', settings: {} },
      {
        onInterim: (text) => void interims.push(text),
        onProbableEnd: () => undefined,
        onTurnContinued: () => undefined,
        onEnd: () => undefined,
        onActivity: () => undefined,
        onLost: (error) => void losses.push(error),
      },
    );
    speakTo(stream);
    stream.finalize();
    await eventually(() => interims.at(-1) === 'Yes.');
    stream.close();
    expect(losses).toEqual([]);
  });

  it.each([
    ['key', 'nova-3', 'other-key', { status: 401, code: 'INVALID_AUTH', message: 'Invalid credentials.' }],
    ['model', 'nova-9', 'stt-key', { status: 400, message: 'No such model/language/tier combination found.' }],
  ])('with a wrong %s is rejected with the reason', async (_, model, apiKey, report) => {
    open(createDeepgramStt({ baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey, model }));
    await eventually(() => losses.length > 0);
    expect(losses[0]?.report).toMatchObject({ provider: 'deepgram', ...report });
    expect(losses[0]?.report.requestId).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('a stream of ElevenLabs', () => {
  let fake: FakeVoice;
  beforeEach(async () => (fake = await openFakeElevenLabs()));
  afterEach(() => fake.close());

  function speak(text: string, changes: Partial<Parameters<typeof createElevenLabsTts>[0]> = {}) {
    const told = { words: [] as string[], pieces: 0, done: false, lost: undefined as ProviderError | undefined };
    const account = { baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'tts-key', model: 'test-voice-v2_5' };
    const stream = createElevenLabsTts({ ...account, voiceIdOf: () => 'voice-amber', ...changes }).open(
      { voice: 'amber', language: 'en', settings: {} },
      {
        onAudio: (mulaw) => void (told.pieces += Math.sign(mulaw.length)),
        onSpoken: (words) => void told.words.push(words),
        onDone: () => void (told.done = true),
        onLost: (error) => void (told.lost = error),
      },
    );
    stream.say(text);
    stream.finish();
    return told;
  }

  it('comes with the characters of all audio, piece by piece', async () => {
    const told = speak('At ten sharp.');
    await eventually(() => told.done);
    expect(told.words).toEqual(['At te', 'n sha', 'rp. ']);
    expect(told.pieces).toBe(3);
  });

  it.each([
    ['key', { apiKey: 'other-key' }, 'invalid_api_key', 'Invalid API key'],
    ['voice', { voiceIdOf: () => 'voice-gone' }, 'voice_not_found', 'A voice with voice_id voice-gone was not found.'],
    ['model', { model: 'eleven_gone' }, 'model_not_found', 'A model with model ID eleven_gone does not exist.'],
  ])('with a wrong %s ends with the reason', async (_, changes, code, message) => {
    const told = speak('My name is Anna.', changes);
    await eventually(() => told.lost !== undefined);
    expect(told.lost?.message).toBe(`the text-to-speech provider reported ${code}`);
    expect(told.lost?.report).toEqual({ provider: 'elevenlabs', code, requestId: 'kW3bQ1', message });
  });

  it('without buffers and without a flush would speak nothing before its end', async () => {
    const url = `ws://127.0.0.1:${fake.port}/v1/text-to-speech/voice-amber/stream-input?model_id=test-voice-v2_5`;
    const socket = new WebSocket(url, { headers: { 'xi-api-key': 'tts-key' } });
    const answers: { audio: string | null; alignment?: unknown }[] = [];
    socket.on('message', (data: Buffer) => answers.push(JSON.parse(data.toString('utf8')) as (typeof answers)[number]));
    await new Promise((resolve) => socket.on('open', resolve));
    socket.send('{"text":" "}');
    socket.send('{"text":"At ten sharp. "}');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(answers).toEqual([]);
    socket.send('{"text":"","flush":true}');
    await eventually(() => answers.some(({ audio }) => audio === null));
    const spoken = answers.filter(({ audio }) => audio !== null);
    expect(spoken.length).toBeGreaterThan(1);
    expect(spoken.filter(({ alignment }) => alignment !== null)).toHaveLength(1);
    socket.terminate();
  });
});
