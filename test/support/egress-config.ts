import { parseConfig, type Config } from '../../src/platform/config/config.js';

/** The settings that judge and resolve customers' URLs; open as in development, unless said otherwise. */
export function egressConfig(webhooks: Partial<Config['webhooks']> = {}): Pick<Config, 'webhooks'> {
  return { webhooks: { ...parseConfig({}).webhooks, ...webhooks } };
}
