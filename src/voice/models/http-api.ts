/** The most that a provider's `Retry-After` delays a retry, in ms. */
const MAX_RETRY_AFTER_MS = 2_000;

/** Returns the header that authorizes a request; none without a key, which a self-hosted server may not need. */
export function bearer(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Returns how long the provider asks to wait before a retry, in ms. */
export function retryAfterOf(headers: { get(name: string): string | null }): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? NaN);
  return Number.isFinite(seconds) ? Math.min(Math.max(0, seconds) * 1_000, MAX_RETRY_AFTER_MS) : undefined;
}

/** Says why a request got no response. Other messages of the library are not used, because they may contain URLs. */
export function failureOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return `failed to respond: ${cause?.code ?? 'the connection was closed'}`;
}
