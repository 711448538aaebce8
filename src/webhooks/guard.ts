import type { Config } from '../platform/config/config.js';
import { urlFault } from '../platform/egress/guard.js';

/** What is wrong with a webhook URL, in a sentence for the client, or undefined. */
export function checkWebhookUrl(url: string, config: Pick<Config, 'webhooks'>): string | undefined {
  return urlFault('webhook_url', url, config);
}
