import { urlFrom } from './text.js';

/**
 * Where a customer's URL points: without its query, in which they put words about single calls, and secrets. Deliveries
 * to one endpoint are looked at together. A text that is no URL stays as it is.
 */
export function webhookEndpoint(url: string): string {
  const parsed = urlFrom(url);
  if (parsed === undefined) return url;
  const { origin, pathname } = parsed;
  return origin === 'null' ? url : origin + pathname;
}
