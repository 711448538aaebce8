import { createHash } from 'node:crypto';

/** Fixed text as irregular as a secret, and none: anybody can make it again. */
export const likeASecret = (name: string) => createHash('sha256').update(`tests: ${name}`).digest('hex');

/** The variables that production demands, with values that hold no secret. Tests that run in production spread them. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  API_KEY_PEPPER: likeASecret('pepper'),
  ENCRYPTION_KEYS: `test:${Buffer.from(likeASecret('encryption'), 'hex').toString('base64')}`,
  CARRIER: 'simulator',
  PUBLIC_BASE_URL: 'https://calls.test',
  STREAM_URL: 'wss://stream.test/audio',
  ALLOWED_COUNTRY_PREFIXES: '+1',
};
