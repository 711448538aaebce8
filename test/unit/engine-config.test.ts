import { engineConfigOf, offeredEngineNames, parseConfig } from '../../src/platform/config/config.js';
import { assertEngineAllowed } from '../../src/agents/agent-rules.js';
import type { AgentSnapshot } from '../../src/agents/agent-snapshot.js';
import { createEngines } from '../../src/voice/engines/engines.js';
import type { EngineFactory } from '../../src/voice/engines/port.js';
import { ignoreEngineSettings } from '../support/engine-environment.js';
import { PRODUCTION } from '../support/production.js';

const TWILIO = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  CARRIER: 'twilio',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 't',
  CARRIER_FROM_NUMBER: '+12025550199',
};

describe('the engine of live calls', () => {
  it('is the offline demo on the simulated carrier by default', () => {
    const config = parseConfig({});
    expect(config.engines.byDefault).toBe('offline-demo');
    expect(offeredEngineNames(config)).toContain('offline-demo');
  });

  it('must not be the offline demo on Twilio', () => {
    expect(() => parseConfig(TWILIO)).toThrow(/ENGINE.*offline-demo.*ALLOW_DEMO_ENGINE_ON_LIVE_CALLS/s);
  });

  it('can be the offline demo on Twilio if the operator allows it', () => {
    const config = parseConfig({ ...TWILIO, ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true' });
    expect(offeredEngineNames(config)).toContain('offline-demo');
  });

  it('cannot be set to the offline demo by agents on Twilio otherwise', () => {
    const config = parseConfig({ ...TWILIO, ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k' });
    expect(offeredEngineNames(config)).toEqual(['openai-realtime']);
  });

  it('must exist and be configured', () => {
    expect(() => parseConfig({ ENGINE: 'magic' })).toThrow(/ENGINE/);
    expect(() => parseConfig({ ENGINE: 'openai-realtime' })).toThrow(/OPENAI_API_KEY/);
    expect(() => parseConfig({ ENGINE: 'pipeline' })).toThrow(/DEEPGRAM_API_KEY/);
  });

  it('supports its own languages', () => {
    const german = { ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k', DEFAULT_LANGUAGE: 'de-DE' };
    expect(parseConfig(german).calls.defaultLanguage).toBe('de-DE');
  });

  it('must support the default voice and the default language', () => {
    expect(() => parseConfig({ DEFAULT_VOICE: 'jade' })).toThrow(/DEFAULT_VOICE.*jade is not available/);
    expect(() => parseConfig({ DEFAULT_LANGUAGE: 'de-DE' })).toThrow(/DEFAULT_LANGUAGE.*does not speak de-DE/);
  });
});

describe('the engine of test calls', () => {
  const PIPELINE = { DEEPGRAM_API_KEY: 'k', LLM_API_KEY: 'k', ELEVENLABS_API_KEY: 'k' };
  const ofTests = (env: NodeJS.ProcessEnv) => parseConfig(env).engines.forTests;

  it.each<[engine: string, of: string, env: NodeJS.ProcessEnv]>([
    ['offline-demo', 'nothing is set', {}],
    ['offline-demo', 'ENGINE is set to it, in spite of a key', { ENGINE: 'offline-demo', OPENAI_API_KEY: 'k' }],
    ['pipeline', 'ENGINE is set to it', { ENGINE: 'pipeline', OPENAI_API_KEY: 'k', ...PIPELINE }],
    ['openai-realtime', 'its key is set', { OPENAI_API_KEY: 'k', ...PIPELINE }],
    ['pipeline', 'only its keys are set', PIPELINE],
    [
      'pipeline',
      'it is named',
      { TEST_MODE_ENGINE: 'pipeline', ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k', ...PIPELINE },
    ],
    ['offline-demo', 'an empty ENGINE counts as not set', { ENGINE: '' }],
  ])('is %s if %s', (engine, _of, env) => {
    expect(ofTests(env)).toBe(engine);
  });

  it('is offline-demo in production unless its cost has a limit', () => {
    const live = { ...PRODUCTION, ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k' };
    expect(ofTests(live)).toBe('offline-demo');
    expect(() => parseConfig({ ...live, TEST_MODE_ENGINE: 'openai-realtime' })).toThrow(/TEST_DAILY_SPEND_CAP_USD/);
    const limited = parseConfig({ ...live, TEST_DAILY_SPEND_CAP_USD: '2.5' });
    expect([limited.engines.forTests, limited.calls.testSpendCapMicros]).toEqual(['openai-realtime', 2_500_000]);
  });

  it('has no limit where it costs nothing', () => {
    expect(parseConfig({ TEST_DAILY_SPEND_CAP_USD: '2.5' }).calls.testSpendCapMicros).toBeUndefined();
  });

  it.each([
    [{ TEST_MODE_ENGINE: 'magic' }, /TEST_MODE_ENGINE/],
    [{ TEST_MODE_ENGINE: 'openai-realtime' }, /TEST_MODE_ENGINE=openai-realtime needs OPENAI_API_KEY/],
    [{ TEST_MODE_ENGINE: 'pipeline' }, /TEST_MODE_ENGINE=pipeline needs the keys/],
    [{ TEST_DAILY_SPEND_CAP_USD: '-1' }, /TEST_DAILY_SPEND_CAP_USD: must be an amount of USD/],
  ])('is rejected at start if it cannot be used: %j', (env, message) => {
    expect(() => parseConfig(env)).toThrow(message);
  });

  it('checks agents of test mode, and is offered to them', () => {
    const config = parseConfig({
      ...TWILIO,
      ENGINE: 'openai-realtime',
      OPENAI_API_KEY: 'k',
      TEST_MODE_ENGINE: 'offline-demo',
    });
    expect(offeredEngineNames(engineConfigOf(config, 'test'))).toEqual(['offline-demo', 'openai-realtime']);
    expect(offeredEngineNames(engineConfigOf(config, 'live'))).toEqual(['openai-realtime']);
  });

  it.each([
    ['offline-demo', 'pipeline', 'offline-demo'],
    ['openai-realtime', 'pipeline', 'pipeline'],
    ['openai-realtime', undefined, 'openai-realtime'],
    ['openai-realtime', 'unknown', 'openai-realtime'],
  ])('%s conducts a test call whose agent names %s: %s', (testEngine, engine, name) => {
    const factory = (of: string) => ({ name: of }) as EngineFactory;
    const engines = createEngines({
      defaultEngine: factory('offline-demo'),
      testEngine: factory(testEngine),
      otherEngines: [factory('pipeline')],
    });
    const agent = (engine === undefined ? {} : { engine }) as AgentSnapshot;
    expect(engines.engineFor({ mode: 'test', agent }).name).toBe(name);
  });
});

describe('npm test', () => {
  it('ignores the engine settings and keys of its environment', () => {
    const env = {
      PATH: '/bin',
      ENGINE: 'pipeline',
      OPENAI_API_KEY: 'k',
      DEEPGRAM_API_KEY: 'k',
      TEST_MODE_ENGINE: 'pipeline',
    };
    ignoreEngineSettings(env);
    expect(env).toEqual({ PATH: '/bin' });
  });
});

describe('the engine of an agent', () => {
  const policy = parseConfig({ ...TWILIO, ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k' });

  it('is allowed if it is offered; without a name it is the configured one', () => {
    expect(() => assertEngineAllowed('openai-realtime', policy)).not.toThrow();
    expect(() => assertEngineAllowed(undefined, policy)).not.toThrow();
    expect(() => assertEngineAllowed('offline-demo', parseConfig({}))).not.toThrow();
  });

  it('is rejected on Twilio if it is the demo, and anywhere if it is not configured', () => {
    expect(() => assertEngineAllowed('offline-demo', policy)).toThrow(
      /^engine: offline-demo is a demonstration.*openai-realtime/,
    );
    expect(() => assertEngineAllowed('pipeline', policy)).toThrow(/^engine: pipeline is not configured/);
  });
});
