import { offeredEngineNames, parseConfig } from '../../src/platform/config/config.js';
import { assertEngineAllowed } from '../../src/agents/agent-rules.js';

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
