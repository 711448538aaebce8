import { parseConfig } from '../../src/platform/config/config.js';

const TWILIO = {
  CARRIER: 'twilio',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 'f'.repeat(32),
  CARRIER_FROM_NUMBER: '+12025550199',
  ENGINE: 'openai-realtime',
  OPENAI_API_KEY: 'k',
};
const PRODUCTION_SIGNS: [name: string, env: Record<string, string>, variable: string][] = [
  ['a real carrier', TWILIO, 'CARRIER=twilio'],
  ['payments', { PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' }, 'PAYMENT_WEBHOOK_SECRET'],
  ['a public address', { PUBLIC_BASE_URL: 'https://calls.example.com', TRUST_PROXY: 'true' }, 'PUBLIC_BASE_URL'],
  ['a private address with TLS', { PUBLIC_BASE_URL: 'https://10.0.0.8' }, 'PUBLIC_BASE_URL'],
];

describe('a missing NODE_ENV', () => {
  it.each(PRODUCTION_SIGNS)('does not start a service with %s', (_name, env, variable) => {
    for (const mode of [{}, { NODE_ENV: '' }, { NODE_ENV: 'development' }, { NODE_ENV: 'test' }]) {
      const parse = () => parseConfig({ ...env, ...mode });
      expect(parse).toThrow(variable);
      expect(parse).toThrow(/NODE_ENV=production.*ALLOW_INSECURE_DEVELOPMENT=true/);
    }
  });

  it.each(PRODUCTION_SIGNS)('is allowed with ALLOW_INSECURE_DEVELOPMENT for %s', (_name, env) => {
    expect(parseConfig({ ...env, ALLOW_INSECURE_DEVELOPMENT: 'true' }).production).toBe(false);
    expect(() => parseConfig({ ...env, ALLOW_INSECURE_DEVELOPMENT: 'false' })).toThrow(/NODE_ENV=production/);
  });

  it.each(['http://127.0.0.1:8080', 'https://localhost:8443', 'https://[::1]', 'http://api:8080'])(
    'does not affect development at %s',
    (address) => {
      expect(parseConfig({ PUBLIC_BASE_URL: address }).production).toBe(false);
    },
  );
});
