import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createTts } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import { passOn } from './fakes/loopback';
import { elevenLabsError, send, type FakeAccountVoice } from './fakes/provider-lists';
import { openFakeOpenAiSpeech, type FakeVoice } from './fakes/voices';
import { checkAtStart, createFakeProviders, type Env } from './support/start-checks-harness';

const fakes = createFakeProviders();
const { openPipelineProviders, openServer } = fakes;
afterEach(() => fakes.close());

describe('the voices of ElevenLabs', () => {
  const voice = (id: string, gender?: string, more: Partial<FakeAccountVoice> = {}): FakeAccountVoice => ({
    voice_id: id,
    category: 'professional',
    labels: { ...(gender === undefined ? {} : { gender }), ...more.labels },
    created_at_unix: more.created_at_unix ?? 1,
    ...(more.category === undefined ? {} : { category: more.category }),
    ...(more.is_owner === undefined ? {} : { is_owner: more.is_owner }),
  });

  async function checkVoices(voices: FakeAccountVoice[], changes: Env = {}, tier = 'starter') {
    const { env, tts } = await openPipelineProviders();
    Object.assign(tts.lists, { voices, tier });
    const result = await checkAtStart({ ...env, TTS_VOICES: '', ...changes });
    return { ...result, voices: result.checked?.engines.pipeline?.tts.voices };
  }

  it('must exist in the account', async () => {
    const changes = { TTS_VOICES: 'amber=voice-1,cobalt=21m00Tcm4TlvDq8ikWAM,slate=21m00Tcm4TlvDq8ikWAM' };
    const { message } = await checkVoices([voice('voice-1')], changes);
    expect(message).toBe(
      'The configuration is invalid. TTS_VOICES: the account of ELEVENLABS_API_KEY has no voice "21m00Tcm4TlvDq8ikWAM", ' +
        'which is set for cobalt, slate. Set it to the id of a voice of this account.',
    );
  });

  it('are chosen by gender and accent, each once, and logged', async () => {
    const { voices, lines, message } = await checkVoices([
      voice('z', 'male', { labels: { accent: 'British' } }),
      voice('c', 'male', { labels: { accent: 'american' }, created_at_unix: 5 }),
      voice('b', 'male', { labels: { accent: 'american' }, created_at_unix: 9 }),
      voice('y', 'female'),
    ]);
    expect(message).toBeUndefined();
    expect(voices).toEqual({ amber: 'y', cobalt: 'c', slate: 'z', copper: 'b' });
    expect(lines).toContainEqual(expect.objectContaining({ voices }));
  });

  it('are chosen from all pages, clones late, premade voices only without others, and used twice if there are too few', async () => {
    const premade = Array.from({ length: 150 }, (_, i) => voice(`a${i}`, 'male', { category: 'premade' }));
    const { voices } = await checkVoices([
      ...premade,
      voice('clone', 'male', { category: 'cloned' }),
      voice('own', 'male', { created_at_unix: 7 }),
      voice('new', 'male', { created_at_unix: 8 }),
      voice('her', 'female', { category: 'cloned' }),
    ]);
    expect(voices).toEqual({ amber: 'her', cobalt: 'new', slate: 'own', copper: 'clone' });
    const few = await checkVoices([...premade, voice('own', 'male')]);
    expect(few.voices).toEqual({ amber: 'own', cobalt: 'own', slate: 'own', copper: 'own' });
    const { voices: one } = await checkVoices([voice('only', 'female')]);
    expect(one).toEqual({ amber: 'only', cobalt: 'only', slate: 'only', copper: 'only' });
  });

  it('without an id use the first id in TTS_VOICES', async () => {
    const { env, tts } = await openPipelineProviders();
    const settings = parseConfig({ ...env, TTS_VOICES: 'cobalt=first,amber=second' }).engines.pipeline?.tts;
    if (settings === undefined) throw new Error('the pipeline is not configured');
    const dispatcher = new Agent();
    const speech = createTts(settings, { dispatcher });
    for (const name of ['amber', 'slate']) await new Promise<void>((resolve) => speak(name, resolve));
    expect(tts.urls.map(({ pathname }) => pathname.split('/')[3])).toEqual(['second', 'first']);
    expect(() => createTts({ ...settings, voices: {}, defaultVoice: undefined }, { dispatcher })).toThrow(
      'Set TTS_VOICES',
    );
    await dispatcher.destroy();

    function speak(name: string, onDone: () => void): void {
      const events = { onAudio: () => undefined, onSpoken: () => undefined, onDone, onLost: onDone };
      const stream = speech.open({ voice: name, language: 'en-US', settings: {} }, events);
      stream.say('Hello.');
      stream.finish();
    }
  });

  it('are required: an account without voices is a fault', async () => {
    expect((await checkVoices([])).message).toBe(
      'The configuration is invalid. TTS_VOICES: the account of ELEVENLABS_API_KEY has no voices. ' +
        'Add a voice to the account that it may use.',
    );
  });

  it('are not chosen from the Voice Library for a free account, which may not use them through the API', async () => {
    const library = voice('library', 'female', { is_owner: false });
    const free = await checkVoices(
      [library, voice('own', 'male', { category: 'generated', is_owner: true })],
      {},
      'free',
    );
    expect(free.voices).toMatchObject({ amber: 'own' });
    expect((await checkVoices([library])).voices).toMatchObject({ amber: 'library' });
    expect((await checkVoices([library], {}, 'free')).message).toBe(
      'The configuration is invalid. TTS_VOICES: the account of ELEVENLABS_API_KEY has no voices that it may use: a free ' +
        'account may not use voices of the Voice Library through the API. Add a voice to the account that it may use.',
    );
    const { warnings } = await checkVoices([library], { TTS_VOICES: 'amber=library' }, 'free');
    expect(warnings).toEqual(['TTS_VOICES: a free account may not use voices of the Voice Library through the API']);
  });

  it('cause a warning with the date if they are premade voices, which ElevenLabs withdraws', async () => {
    const premade = voice('p', 'female', { category: 'premade', is_owner: false });
    const line = expect.objectContaining({ setting: 'TTS_VOICES', shutdownDate: '2026-12-31' });
    expect((await checkVoices([premade])).lines).toContainEqual(line);
    expect((await checkVoices([premade], { TTS_VOICES: 'amber=p' })).lines).toContainEqual(line);
    const { lines } = await checkVoices([premade, voice('own')], { TTS_VOICES: 'amber=own' });
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('are required: a list that cannot be read is a fault, unless TTS_VOICES is set', async () => {
    const { env } = await openPipelineProviders();
    const denied = elevenLabsError('authentication_error', 'missing_permissions', 'missing the permission voices_read');
    const withinMs = { check: 3_000, findVoices: 3_000 };
    const answers: [(response: ServerResponse) => void, string, string[]][] = [
      [(response) => void send(response, 401, denied), 'the key lacks the permission', ['TTS_MODEL', 'TTS_VOICES']],
      [(response) => response.writeHead(503).end(), 'status 503', ['TTS_MODEL', 'TTS_VOICES']],
      [() => undefined, 'no response in time', ['TTS_BASE_URL']],
    ];
    for (const [answer, reason, names] of answers) {
      const { port } = await openServer((_, response) => answer(response));
      const broken = { ...env, TTS_BASE_URL: `ws://127.0.0.1:${port}` };
      expect((await checkAtStart({ ...broken, TTS_VOICES: '' }, withinMs)).message).toBe(
        `The configuration is invalid. TTS_VOICES is not set, and the voices of the account of ELEVENLABS_API_KEY could ` +
          `not be listed (${reason}). Set TTS_VOICES, or let the key read voices and check TTS_BASE_URL.`,
      );
      const { message, warnings } = await checkAtStart(broken);
      expect({ message, warnings: warnings.toSorted() }).toEqual({
        message: undefined,
        warnings: names.map((name) => `${name}: ${reason}`),
      });
    }
  }, 30_000);

  it('are not taken from a model that cannot speak', async () => {
    const { env, tts } = await openPipelineProviders();
    tts.lists.models.push('scribe_v2');
    expect((await checkAtStart({ ...env, TTS_MODEL: 'scribe_v2' })).message).toContain('TTS_MODEL: ');
  });
});

describe('a text-to-speech server that cannot speak', () => {
  async function checkWithSpeech(change: (speech: FakeVoice) => void, voice = 'voice-amber') {
    const { env } = await openPipelineProviders();
    const speech = fakes.kept(await openFakeOpenAiSpeech());
    change(speech);
    const TTS_BASE_URL = `http://127.0.0.1:${speech.port}/v1`;
    const settings = { TTS_PROVIDER: 'openai', TTS_BASE_URL, TTS_VOICES: `cobalt=${voice}`, TTS_API_KEY: 'tts-key' };
    const { message, warnings } = await checkAtStart({ ...env, ...settings }, { check: 1_000, findVoices: 1_000 });
    expect(message).toBeUndefined();
    return warnings;
  }

  it('is named at start, with the reason', async () => {
    const who = 'TTS_BASE_URL: the text-to-speech provider';
    const mp3 = { kind: 'format', type: 'audio/mpeg', head: 'ID3' } as const;
    expect(await checkWithSpeech((speech) => (speech.faultOf = () => mp3))).toEqual([
      `${who} returned audio in another format than pcm`,
    ]);
    expect(await checkWithSpeech(() => undefined, 'gone')).toEqual([
      `${who} responded with status 400: Invalid value: 'gone'.`,
    ]);
    expect(await checkWithSpeech((speech) => (speech.faultOf = () => ({ kind: 'stall' })))).toEqual([
      'TTS_BASE_URL: no audio in time',
    ]);
  });

  it('is in order without a list of models', async () => {
    const { env } = await openPipelineProviders();
    const speech = fakes.kept(await openFakeOpenAiSpeech());
    const server = await openServer((request, response) => {
      if (request.url === '/v1/audio/speech') passOn(request, response, speech.port);
      else response.writeHead(404).end();
    });
    const settings = { TTS_PROVIDER: 'openai', TTS_VOICES: 'cobalt=voice-amber', TTS_API_KEY: 'tts-key' };
    const TTS_BASE_URL = `http://127.0.0.1:${server.port}/v1`;
    expect(await checkAtStart({ ...env, ...settings, TTS_BASE_URL })).toMatchObject({
      message: undefined,
      warnings: [],
    });
  });
});
