import { offeredEngineNames, parseConfig } from '../../src/platform/config/config.js';
import { refuseEngine } from '../../src/agents/agent-rules.js';

const TWILIO = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  CARRIER: 'twilio',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 't',
  CARRIER_FROM_NUMBER: '+12025550199',
};

describe('the engine of live calls', () => {
  it('is the offline demo on the simulated carrier, unless another is named', () => {
    const config = parseConfig({});
    expect(config.engines.byDefault).toBe('offline-demo');
    expect(offeredEngineNames(config)).toContain('offline-demo');
  });

  it('must not be the offline demo on Twilio', () => {
    expect(() => parseConfig(TWILIO)).toThrow(/ENGINE.*offline-demo.*ALLOW_DEMO_ENGINE_ON_LIVE_CALLS/s);
  });

  it('may be the offline demo on Twilio when the operator says so', () => {
    const config = parseConfig({ ...TWILIO, ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true' });
    expect(offeredEngineNames(config)).toContain('offline-demo');
  });

  it('is not among what agents on Twilio may name, else', () => {
    const config = parseConfig({ ...TWILIO, ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k' });
    expect(offeredEngineNames(config)).toEqual(['openai-realtime']);
  });

  it('must be one that exists, and be configured', () => {
    expect(() => parseConfig({ ENGINE: 'magic' })).toThrow(/ENGINE/);
    expect(() => parseConfig({ ENGINE: 'openai-realtime' })).toThrow(/OPENAI_API_KEY/);
    expect(() => parseConfig({ ENGINE: 'pipeline' })).toThrow(/DEEPGRAM_API_KEY/);
  });

  it('brings its own languages', () => {
    const german = { ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k', DEFAULT_LANGUAGE: 'de-DE' };
    expect(parseConfig(german).calls.defaultLanguage).toBe('de-DE');
  });

  it('must have the default voice and speak the default language with it', () => {
    expect(() => parseConfig({ DEFAULT_VOICE: 'jade' })).toThrow(/DEFAULT_VOICE.*no voice jade/);
    expect(() => parseConfig({ DEFAULT_LANGUAGE: 'de-DE' })).toThrow(/DEFAULT_LANGUAGE.*does not speak de-DE/);
  });
});

describe('the engine that an agent names', () => {
  const policy = parseConfig({ ...TWILIO, ENGINE: 'openai-realtime', OPENAI_API_KEY: 'k' });

  it('conducts its live calls when it is offered; no name is the configured one', () => {
    expect(() => refuseEngine('openai-realtime', policy)).not.toThrow();
    expect(() => refuseEngine(undefined, policy)).not.toThrow();
    expect(() => refuseEngine('offline-demo', parseConfig({}))).not.toThrow();
  });

  it('is refused on Twilio when it is the demo, and anywhere when it is not configured', () => {
    expect(() => refuseEngine('offline-demo', policy)).toThrow(
      /^engine: offline-demo is a demonstration.*openai-realtime/,
    );
    expect(() => refuseEngine('pipeline', policy)).toThrow(/^engine: pipeline is not configured/);
  });
});
