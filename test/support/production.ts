/** The variables that production demands, with values that hold no secret. Tests that run in production spread them. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  API_KEY_PEPPER: 'p'.repeat(32),
  ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 'test').toString('base64')}`,
  CARRIER: 'simulator',
  PUBLIC_BASE_URL: 'https://calls.test',
  STREAM_URL: 'wss://stream.test/audio',
  ALLOWED_COUNTRY_PREFIXES: '+1',
};
