import { invalidParam } from '../../kernel/invalid-request.js';
import type { Config } from '../config/config.js';
import { urlFault } from './guard.js';

/** Checks a webhook URL. @returns an error message for the client, or undefined if the URL is acceptable */
export function checkWebhookUrl(url: string, config: Pick<Config, 'webhooks'>): string | undefined {
  return urlFault('webhook_url', url, config);
}

/** Accepts undefined. @throws ServiceError MISSING_PARAMS if the URL is not acceptable */
export function assertWebhookUrl(url: string | undefined, config: Pick<Config, 'webhooks'>): void {
  const fault = url === undefined ? undefined : checkWebhookUrl(url, config);
  if (fault !== undefined) throw invalidParam('webhook_url', fault);
}
