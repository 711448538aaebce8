import { urlFrom } from './text.js';

/**
 * Returns the origin and path of a customer's URL, by which deliveries are grouped. The query is left out, because
 * customers put call-specific values and secrets there. A text that is not a URL is returned unchanged.
 */
export function webhookEndpoint(url: string): string {
  const parsed = urlFrom(url);
  if (parsed === undefined) return url;
  const { origin, pathname } = parsed;
  return origin === 'null' ? url : origin + pathname;
}
