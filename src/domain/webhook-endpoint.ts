/**
 * Where a webhook URL points: without its query, in which customers put words about single calls (and secrets), so that
 * deliveries to one endpoint can be looked at together. A text that is no URL stays as it is.
 */
export function webhookEndpoint(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
