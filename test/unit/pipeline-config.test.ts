import { configuredEngineNames, configuredVoices, parseConfig } from '../../src/platform/config/config.js';
import { languagesOf } from '../../src/kernel/conversation/voices.js';
import { assertVoiceFits } from '../../src/agents/agent-rules.js';

const KEYS = { DEEPGRAM_API_KEY: 'd', LLM_API_KEY: 'l', ELEVENLABS_API_KEY: 'e' };

describe('the configuration of the pipeline engine', () => {
  it('is present with its three keys', () => {
    const config = parseConfig({ ...KEYS, ENGINE: 'pipeline', TTS_VOICES: 'amber=abc123, copper=x_y-z' });
    expect(configuredEngineNames(config)).toContain('pipeline');
    expect(config.engines.pipeline).toMatchObject({
      stt: { provider: 'deepgram', baseUrl: 'wss://api.deepgram.com', apiKey: 'd', model: 'nova-3' },
      llm: { baseUrl: 'https://api.openai.com/v1', apiKey: 'l' },
      tts: { provider: 'elevenlabs', apiKey: 'e', voices: { amber: 'abc123', copper: 'x_y-z' } },
    });
    expect(configuredEngineNames(parseConfig({}))).not.toContain('pipeline');
  });

  it('accepts another TTS provider with its own key and address', () => {
    const { engines } = parseConfig({
      DEEPGRAM_API_KEY: 'd',
      LLM_API_KEY: 'l',
      TTS_PROVIDER: 'openai',
      TTS_API_KEY: 't',
      TTS_BASE_URL: 'http://127.0.0.1:9/v1/',
      TTS_MODEL: 'kokoro',
    });
    expect(engines.pipeline?.tts).toMatchObject({
      provider: 'openai',
      apiKey: 't',
      baseUrl: 'http://127.0.0.1:9/v1',
      model: 'kokoro',
    });
  });

  it('accepts another STT provider with its own key and address', () => {
    const own = { LLM_API_KEY: 'l', ELEVENLABS_API_KEY: 'e', STT_PROVIDER: 'openai', STT_API_KEY: 's' };
    expect(parseConfig(own).engines.pipeline?.stt).toEqual({
      provider: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 's',
      model: 'gpt-transcribe',
    });
    const whisper = { STT_BASE_URL: 'http://127.0.0.1:8000/v1/', STT_MODEL: 'Systran/faster-whisper-small' };
    expect(parseConfig({ ...own, ...whisper }).engines.pipeline?.stt).toMatchObject({
      baseUrl: 'http://127.0.0.1:8000/v1',
      model: 'Systran/faster-whisper-small',
    });
  });

  it('needs no key for servers other than the provider’s own', () => {
    const server = 'http://127.0.0.1:8000/v1';
    const selfHosted = {
      ENGINE: 'pipeline',
      STT_PROVIDER: 'openai',
      STT_BASE_URL: server,
      STT_MODEL: 'whisper',
      LLM_BASE_URL: server,
      LLM_MODEL: 'llama',
      TTS_PROVIDER: 'openai',
      TTS_BASE_URL: server,
      TTS_MODEL: 'kokoro',
    };
    const { engines } = parseConfig(selfHosted);
    for (const account of [engines.pipeline?.stt, engines.pipeline?.llm, engines.pipeline?.tts]) {
      expect(account).toMatchObject({ provider: 'openai', baseUrl: server, apiKey: '' });
    }
    expect(() => parseConfig({ ...selfHosted, LLM_BASE_URL: 'https://api.openai.com/v1' })).toThrow(
      'ENGINE=pipeline needs LLM_API_KEY with STT_PROVIDER=openai and TTS_PROVIDER=openai.',
    );
    expect(configuredEngineNames(parseConfig({ LLM_BASE_URL: server }))).not.toContain('pipeline');
  });

  it('reaches a model on Azure by its v1 address', () => {
    const LLM_BASE_URL = 'https://my-resource.openai.azure.com/openai/v1';
    const { engines } = parseConfig({ ...KEYS, LLM_BASE_URL, LLM_MODEL: 'my-deployment' });
    expect(engines.pipeline?.llm).toEqual({
      provider: 'openai',
      baseUrl: LLM_BASE_URL,
      apiKey: 'l',
      model: 'my-deployment',
    });
  });

  it('has no voice ids of ElevenLabs, whose voices differ by account, and uses the first one for voices without an id', () => {
    const ttsOf = (env: NodeJS.ProcessEnv) => parseConfig({ ...KEYS, ...env }).engines.pipeline?.tts;
    expect(ttsOf({})).toMatchObject({ voices: {}, defaultVoice: undefined });
    const voices = { cobalt: 'first', amber: 'second' };
    expect(ttsOf({ TTS_VOICES: 'cobalt=first,amber=second' })).toMatchObject({ voices, defaultVoice: 'first' });
    const kokoro = 'amber=af_bella(2)+af_sky(1),cobalt=voices/en/joe.v1';
    const mixed = { amber: 'af_bella(2)+af_sky(1)', cobalt: 'voices/en/joe.v1' };
    expect(ttsOf({ TTS_VOICES: kokoro })).toMatchObject({ voices: mixed });
    const openai = ttsOf({ TTS_PROVIDER: 'openai', TTS_API_KEY: 't', TTS_MODEL: 'm', TTS_VOICES: 'cobalt=ash' });
    expect(openai).toMatchObject({ voices: { cobalt: 'ash', slate: 'ash', copper: 'echo' }, defaultVoice: 'coral' });
  });

  it('accepts only agents with languages that its STT model supports', () => {
    const german = { voice: 'amber', language: 'de-DE', engine: 'pipeline' };
    const nova = parseConfig({ ...KEYS });
    expect(() => assertVoiceFits(german, nova)).not.toThrow();
    const flux = parseConfig({ ...KEYS, OPENAI_API_KEY: 'o', STT_MODEL: 'flux-general-en' });
    expect(() => assertVoiceFits(german, flux)).toThrow(
      'language: the voice amber does not speak de-DE on the engine pipeline; use one of en-US, en-GB.',
    );
    expect(() => assertVoiceFits({ ...german, engine: 'openai-realtime' }, flux)).not.toThrow();
    expect(languagesOf(['pipeline'], configuredVoices(flux)).map(({ tag }) => tag)).toEqual(['en-US', 'en-GB']);
    expect(languagesOf(['pipeline'], configuredVoices(nova)).length).toBeGreaterThan(2);
    const multilingual = parseConfig({ ...KEYS, STT_MODEL: 'flux-general-multi' });
    expect(() => assertVoiceFits(german, multilingual)).not.toThrow();
  });

  it.each([
    [
      { ...KEYS, ENGINE: 'pipeline', STT_MODEL: 'flux-general-en', DEFAULT_LANGUAGE: 'fr-FR' },
      'DEFAULT_VOICE and DEFAULT_LANGUAGE do not fit ENGINE.',
    ],
    [
      { ENGINE: 'pipeline' },
      'ENGINE=pipeline needs DEEPGRAM_API_KEY and LLM_API_KEY and ELEVENLABS_API_KEY with TTS_PROVIDER=elevenlabs.',
    ],
    [
      { DEEPGRAM_API_KEY: 'd', LLM_API_KEY: 'l' },
      'The pipeline engine needs ELEVENLABS_API_KEY with TTS_PROVIDER=elevenlabs.',
    ],
    [{ ...KEYS, TTS_PROVIDER: 'openai' }, 'The pipeline engine needs TTS_API_KEY with TTS_PROVIDER=openai.'],
    [
      { ...KEYS, TTS_PROVIDER: 'openai', TTS_API_KEY: 't' },
      'TTS_PROVIDER=openai needs TTS_MODEL: a model of the server at TTS_BASE_URL.',
    ],
    [{ ...KEYS, TTS_BASE_URL: 'https://api.elevenlabs.io' }, 'TTS_BASE_URL must begin with wss://'],
    [{ ...KEYS, STT_BASE_URL: 'https://api.deepgram.com' }, 'STT_BASE_URL must begin with wss:// or ws://'],
    [{ ...KEYS, STT_PROVIDER: 'openai' }, 'needs STT_API_KEY with STT_PROVIDER=openai and TTS_PROVIDER=elevenlabs.'],
    [
      { ...KEYS, STT_PROVIDER: 'openai', STT_API_KEY: 's', STT_BASE_URL: 'wss://stt.example.com' },
      'STT_BASE_URL must begin with https:// or http:// if STT_PROVIDER=openai.',
    ],
    [
      { ...KEYS, TTS_PROVIDER: 'openai', TTS_API_KEY: 't', TTS_BASE_URL: 'wss://tts.example.com' },
      'TTS_BASE_URL must begin with https:// or http:// if TTS_PROVIDER=openai.',
    ],
    [{ ...KEYS, TTS_VOICES: 'amber' }, 'TTS_VOICES: must be a comma-separated list of voices'],
  ])('is rejected at start-up with a clear message: %j', (env, sentence) => {
    expect(() => parseConfig(env as NodeJS.ProcessEnv)).toThrow(sentence);
  });
});
