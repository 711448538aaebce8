import { createHash } from 'node:crypto';

/** Returns a text that looks like a secret. The same name always gives the same text. */
export const likeASecret = (name: string) => createHash('sha256').update(`tests: ${name}`).digest('hex');

/** How long production keeps each class of data; values are required there. */
export const RETENTION = {
  CALL_RETENTION_DAYS: '730',
  TRANSCRIPT_RETENTION_DAYS: '90',
  RECORDING_RETENTION_DAYS: '90',
  DELIVERY_RETENTION_DAYS: '30',
  CARRIER_EVENT_RETENTION_DAYS: '90',
  AUDIT_RETENTION_DAYS: '730',
  TEMPORAL_RETENTION_DAYS: '7',
};

/**
 * The variables required in production, without real secrets. Tests of production mode add them to their environment.
 */
export const PRODUCTION = {
  NODE_ENV: 'production',
  API_KEY_PEPPER: likeASecret('pepper'),
  ENCRYPTION_KEYS: `test:${Buffer.from(likeASecret('encryption'), 'hex').toString('base64')}`,
  CARRIER: 'simulator',
  PUBLIC_BASE_URL: 'https://calls.test',
  STREAM_URL: 'wss://stream.test/audio',
  ALLOWED_COUNTRY_PREFIXES: '+1',
  ...RETENTION,
};
