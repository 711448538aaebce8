import { parseConfig, configuredVoices } from '../../src/platform/config/config.js';
import { languagesOf } from '../../src/kernel/conversation/voices.js';

const KEYS = { DEEPGRAM_API_KEY: 'd', LLM_API_KEY: 'l', ELEVENLABS_API_KEY: 'e' };
const STT_2 = { STT_2_PROVIDER: 'deepgram', STT_2_API_KEY: 'd2' };
const LLM_2 = { LLM_2_PROVIDER: 'openai', LLM_2_API_KEY: 'l2', LLM_2_MODEL: 'gpt-6-sol' };
const TTS_2 = { TTS_2_PROVIDER: 'elevenlabs', TTS_2_API_KEY: 'e2', TTS_2_VOICES: 'amber=a2,cobalt=c2' };

describe('the alternatives of the pipeline’s providers', () => {
  it('have their own accounts, in order', () => {
    const { pipeline } = parseConfig({
      ...KEYS,
      ...STT_2,
      STT_3_PROVIDER: 'openai',
      STT_3_BASE_URL: 'http://127.0.0.1:8000/v1/',
      STT_3_MODEL: 'whisper',
      ...LLM_2,
      LLM_2_REASONING_EFFORT: 'low',
      ...TTS_2,
    }).engines;
    expect(pipeline?.fallbacks).toEqual({
      stt: [
        { provider: 'deepgram', baseUrl: 'wss://api.deepgram.com', apiKey: 'd2', model: 'nova-3' },
        { provider: 'openai', baseUrl: 'http://127.0.0.1:8000/v1', apiKey: '', model: 'whisper' },
      ],
      llm: [
        {
          provider: 'openai',
          baseUrl: 'https://api.openai.com/v1',
          apiKey: 'l2',
          model: 'gpt-6-sol',
          reasoningEffort: 'low',
        },
      ],
      tts: [
        {
          provider: 'elevenlabs',
          baseUrl: 'wss://api.elevenlabs.io',
          apiKey: 'e2',
          model: 'eleven_flash_v2_5',
          voices: { amber: 'a2', cobalt: 'c2' },
          defaultVoice: 'a2',
        },
      ],
    });
  });

  it.each([
    [{ ...STT_2, STT_2_PROVIDER: '' }, 'STT_2_PROVIDER must be set if its other variables are set.'],
    [{ STT_3_PROVIDER: 'deepgram' }, 'STT_2_PROVIDER must be set if STT_3_PROVIDER is set.'],
    [{ ...STT_2, STT_2_API_KEY: '' }, 'STT_2_API_KEY must be set for STT_2_PROVIDER=deepgram.'],
    [{ ...LLM_2, LLM_2_API_KEY: '' }, 'LLM_2_API_KEY must be set for LLM_2_PROVIDER=openai.'],
    [{ ...LLM_2, LLM_2_MODEL: '' }, 'LLM_2_MODEL must be set for LLM_2_PROVIDER=openai.'],
    [{ ...TTS_2, TTS_2_VOICES: '' }, 'TTS_2_VOICES must be set for TTS_2_PROVIDER=elevenlabs.'],
    [{ ...TTS_2, TTS_2_PROVIDER: 'openai' }, 'TTS_2_MODEL must be set for TTS_2_PROVIDER=openai.'],
    [
      { ...STT_2, STT_2_BASE_URL: 'https://127.0.0.1' },
      'STT_2_BASE_URL must begin with wss:// or ws:// if STT_2_PROVIDER=deepgram.',
    ],
    [{ LLM_TIMEOUT_MS: '50' }, 'LLM_TIMEOUT_MS: Too small'],
  ])('are rejected if incomplete: %#', (given, message) => {
    expect(() => parseConfig({ ...KEYS, ...given })).toThrow(message);
  });

  it('are not ignored if the first providers are missing', () => {
    expect(() => parseConfig(LLM_2)).toThrow('The pipeline engine needs DEEPGRAM_API_KEY');
  });

  it('limit the languages to those that every one of them understands', () => {
    const config = parseConfig({ ...KEYS, ...STT_2, STT_2_MODEL: 'flux-general-en' });
    expect(languagesOf(['pipeline'], configuredVoices(config)).map(({ tag }) => tag)).toEqual(['en-US', 'en-GB']);
  });
});
