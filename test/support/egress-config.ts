import { parseConfig, type Config } from '../../src/platform/config/config.js';

/**
 * Settings for the check and the resolution of customers' URLs. By default they are as permissive as in development.
 */
export function egressConfig(webhooks: Partial<Config['webhooks']> = {}): Pick<Config, 'webhooks'> {
  return { webhooks: { ...parseConfig({}).webhooks, ...webhooks } };
}
