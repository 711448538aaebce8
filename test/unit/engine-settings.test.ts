import { configuredEngineNames, parseConfig } from '../../src/platform/config/config.js';
import { createConfiguredEngines } from '../../src/voice/engines/configured-engines.js';
import { createUsageMeter } from '../../src/voice/engines/engine-usage.js';
import { wordsHeard } from '../../src/voice/results/played-words.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';

const KEYS = { OPENAI_API_KEY: 'o', DEEPGRAM_API_KEY: 'd', LLM_API_KEY: 'l', ELEVENLABS_API_KEY: 'e' };

describe('the settings of engines', () => {
  it('reject a default engine without its key at start-up', () => {
    expect(() => parseConfig({ ENGINE: 'openai-realtime' })).toThrow('ENGINE=openai-realtime needs OPENAI_API_KEY.');
    expect(() => parseConfig({ ENGINE: 'openai' })).toThrow(/ENGINE/);
    expect(() => parseConfig({ OPENAI_BASE_URL: 'wss://api.openai.com' })).toThrow(/OPENAI_BASE_URL.*http/);
  });

  it('determine which engines are configured', () => {
    expect(configuredEngineNames(parseConfig({}))).toEqual(['offline-demo']);
    expect(configuredEngineNames(parseConfig({ OPENAI_API_KEY: 'sk-1' }))).toEqual(['offline-demo', 'openai-realtime']);
    expect(parseConfig({ OPENAI_API_KEY: 'sk-1' }).engines.byDefault).toBe('offline-demo');
  });

  it('accept prices by unit and nothing else', () => {
    const { prices } = parseConfig({
      ENGINE_PRICES: 'realtime_input_audio_tokens=32, realtime_cached_audio_tokens=0.4',
    }).engines;
    expect(prices).toEqual({ realtime_input_audio_tokens: 32, realtime_cached_audio_tokens: 0.4 });
    for (const wrong of ['32', 'a=b', 'a=1;b=2', 'A=1', 'a=-1']) {
      expect(() => parseConfig({ ENGINE_PRICES: wrong })).toThrow(/ENGINE_PRICES/);
    }
  });

  it('name no model by default whose end OpenAI has announced', () => {
    const { openaiRealtime, pipeline } = parseConfig(KEYS).engines;
    const { model, transcriptionModel, conclusionModel } = openaiRealtime ?? {};
    const models = [model, transcriptionModel, conclusionModel, pipeline?.llm.model];
    expect(models).toEqual(['gpt-realtime-2.1', 'gpt-transcribe', 'gpt-6-luna', 'gpt-6-luna']);
    // The deprecated values in the types of the npm package openai 7.57.0.
    const retiring =
      /^(gpt-realtime(-mini)?|gpt-audio-mini|whisper-1|gpt-4o.*|gpt-4\.1.*|gpt-5(-mini|-nano)?|gpt-5\.1|gpt-5\.4-nano|o[134].*)$/;
    for (const name of models) expect(name).not.toMatch(retiring);
  });

  it('choose a reasoning effort only if the operator does', () => {
    const chosen = (env: Record<string, string>) => {
      const { openaiRealtime, pipeline } = parseConfig({ ...KEYS, ...env }).engines;
      return [openaiRealtime?.reasoningEffort, pipeline?.llm.reasoningEffort];
    };
    expect(chosen({})).toEqual([undefined, undefined]);
    expect(chosen({ LLM_REASONING_EFFORT: 'low' })).toEqual(['low', 'low']);
    expect(() => chosen({ LLM_REASONING_EFFORT: 'some' })).toThrow(/LLM_REASONING_EFFORT/);
  });

  it('select the turn detection', () => {
    const semantic = parseConfig({
      OPENAI_API_KEY: 'k',
      OPENAI_TURN_DETECTION: 'semantic_vad',
      OPENAI_VAD_EAGERNESS: 'low',
    });
    expect(semantic.engines.openaiRealtime?.turnDetection).toEqual({ type: 'semantic_vad', eagerness: 'low' });
  });
});

describe('the engines of a media process', () => {
  const agent = (engine?: 'openai-realtime' | 'offline-demo') =>
    ({
      agentId: 'agent_1',
      instruction: '',
      voice: 'amber',
      language: 'en-US',
      ...(engine ? { engine } : {}),
    }) as const;

  it('conduct live calls by the engine of the agent or the configuration, and test calls by that of test mode', async () => {
    const logger = createLogger({ role: 'media', level: 'silent' });
    const config = parseConfig({ OPENAI_API_KEY: 'sk-1', ENGINE: 'openai-realtime' });
    const engines = createConfiguredEngines({ config, logger });
    const nameFor = (mode: 'live' | 'test', engine?: 'openai-realtime' | 'offline-demo') =>
      engines.engineFor({ mode, agent: agent(engine) }).name;
    expect(nameFor('live')).toBe('openai-realtime');
    expect(nameFor('live', 'offline-demo')).toBe('offline-demo');
    expect(nameFor('test', 'offline-demo')).toBe('offline-demo');
    expect(nameFor('test')).toBe('openai-realtime');
    await engines.close();

    const offline = createConfiguredEngines({ config: parseConfig({ OPENAI_API_KEY: 'sk-1' }), logger });
    expect(offline.engineFor({ mode: 'live', agent: agent() }).name).toBe('offline-demo');
    expect(offline.engineFor({ mode: 'live', agent: agent('openai-realtime') }).name).toBe('openai-realtime');
    await offline.close();
  });
});

describe('the usage meter', () => {
  it('adds up units and their cost in whole micro-USD', () => {
    const meter = createUsageMeter({ tokens: 0.4, seconds: 100 });
    meter.add('tokens', 7);
    meter.add('tokens', 4);
    meter.add('seconds', 2);
    meter.add('tokens', undefined);
    meter.add('nothing', 0);
    meter.add('nothing', Number.NaN);
    expect(meter.total()).toEqual({ units: { tokens: 11, seconds: 2 }, costMicros: 204 });
  });

  it('has no cost if a unit has no price or there is no usage', () => {
    const meter = createUsageMeter({ tokens: 1 });
    meter.add('seconds', 2);
    expect(meter.total().costMicros).toBeNull();
    expect(createUsageMeter({}).total()).toEqual({ units: {}, costMicros: null, estimatedMicros: 0 });
  });
});

describe('the heard words of an interrupted sentence', () => {
  it.each([
    [0.5, 'one two (interrupted)'],
    [0.05, 'one (interrupted)'],
    [0.99, 'one two three (interrupted)'],
    [1, 'one two three four'],
    [7, 'one two three four'],
    [-1, 'one (interrupted)'],
  ])('are estimated from the share %d of its audio', (share, heard) => {
    expect(wordsHeard('one two  three four ', share)).toBe(heard);
  });
});
