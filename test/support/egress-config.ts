import { parseConfig, type Config } from '../../src/platform/config/config.js';

/** The settings for checking and resolving customers' URLs; by default as permissive as in development. */
export function egressConfig(webhooks: Partial<Config['webhooks']> = {}): Pick<Config, 'webhooks'> {
  return { webhooks: { ...parseConfig({}).webhooks, ...webhooks } };
}
