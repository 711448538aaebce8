import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../src/config.js';
import { openDatabase, requireReplicaSet } from '../../src/store/database.js';
import { PRODUCTION } from '../support/production.js';

const refusal = (env: NodeJS.ProcessEnv): string => {
  try {
    parseConfig({ ...PRODUCTION, ...env });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('production never starts with settings that expose it', () => {
  it.each([
    ['API_KEY_PEPPER', 'development-pepper-development-pepper'],
    ['TWILIO_AUTH_TOKEN', '1'.repeat(32)],
    ['TWILIO_AUTH_TOKEN', '2'.repeat(32)],
  ])('%s=%s is refused: everybody can read it', (name, value) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`${name} must be`));
  });

  it.each([
    ['PUBLIC_BASE_URL', 'http://calls.example.com', 'https'],
    ['STREAM_URL', 'ws://calls.example.com/stream', 'wss'],
    ['STREAM_URL', 'https://calls.example.com/stream', 'wss'],
    ['CARRIER_BASE_URL', 'http://api.example.com', 'https'],
    ['SIMULATOR_URL', 'http://simulator.example.com:8082', 'https'],
    ['SIMULATOR_URL', 'http://203.0.113.9:8082', 'https'],
    ['OPENAI_BASE_URL', 'http://api.example.com/v1', 'https'],
    ['LLM_BASE_URL', 'http://api.example.com/v1', 'https'],
    ['STT_BASE_URL', 'ws://api.example.com', 'wss'],
    ['TTS_BASE_URL', 'ws://api.example.com', 'https or wss'],
    ['TEMPORAL_UI_URL', 'http://temporal.example.com', 'https'],
  ])('%s=%s is refused: %s is needed', (name, value, scheme) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`${name} must use ${scheme} in production`));
  });

  it.each([
    ['SIMULATOR_URL', 'http://127.0.0.1:8082'],
    ['SIMULATOR_URL', 'http://10.1.2.3:8082'],
    ['SIMULATOR_URL', 'http://[fd00::5]:8082'],
    ['SIMULATOR_URL', 'http://simulator:8082'],
    ['TEMPORAL_UI_URL', 'http://localhost:8233'],
    ['LLM_BASE_URL', 'http://127.0.0.1:8000/v1'],
  ])('%s=%s is taken: it does not leave the private network', (name, value) => {
    expect(refusal({ [name]: value })).toBe('');
  });

  it.each([
    ['API_KEY_PEPPER', 'change-me-change-me-change-me-change-me'],
    ['SIMULATOR_TEST_AUTH_TOKEN', 'CHANGE-ME-0123456789'],
    ['PAYMENT_WEBHOOK_SECRET', 'please-change-me-now'],
    ['OPENAI_API_KEY', 'change-me'],
    ['TEMPORAL_API_KEY', 'change-me'],
    ['MONGODB_URI', 'mongodb://root:change-me@db/callwright'],
    ['TEMPORAL_POSTGRES_PASSWORD', 'change-me'],
  ])('%s is refused while it is a placeholder', (name, value) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`${name} still holds the placeholder change-me`));
    expect(() => parseConfig({ [name]: value })).not.toThrow();
  });

  it('all faults are told together, each naming its variable', () => {
    const message = refusal({
      PUBLIC_BASE_URL: 'http://calls.example.com',
      API_PORT: 'many',
      CARRIER: '',
      API_KEY_PEPPER: 'short',
      SIMULATOR_AUTH_TOKEN: '1'.repeat(32),
      ENGINE: 'pipeline',
    });
    const names = [
      'PUBLIC_BASE_URL',
      'API_PORT',
      'CARRIER',
      'API_KEY_PEPPER',
      'SIMULATOR_AUTH_TOKEN',
      'ENGINE=pipeline',
    ];
    for (const name of names) expect(message).toContain(name);
    expect(message.match(/API_KEY_PEPPER/g)).toHaveLength(1);
  });

  it('a MongoDB that is no replica set is refused unless that is said', async () => {
    const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/settings_${randomUUID()}`);
    try {
      const alone = { ...database, replicated: false };
      expect(() => requireReplicaSet(parseConfig(PRODUCTION), alone)).toThrow(/MONGODB_URI .*ALLOW_STANDALONE_MONGODB/);
      const allowed = parseConfig({ ...PRODUCTION, ALLOW_STANDALONE_MONGODB: 'true' });
      expect(() => requireReplicaSet(allowed, alone)).not.toThrow();
      expect(() => requireReplicaSet(parseConfig({}), alone)).not.toThrow();
      expect(() => requireReplicaSet(parseConfig(PRODUCTION), { ...database, replicated: true })).not.toThrow();
    } finally {
      await database.close();
    }
  });
});
