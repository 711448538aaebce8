import type { ClientRequest, IncomingMessage } from 'node:http';

/** The most that a provider's `Retry-After` delays a retry, in ms. */
const MAX_RETRY_AFTER_MS = 2_000;
const MAX_REASON_BYTES = 8_192;
const REASON_WITHIN_MS = 500;

/** Returns the header that authorizes a request; none without a key, which a self-hosted server may not need. */
export function bearer(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

/**
 * Returns how long the provider asks to wait before a retry, in ms: by `retry-after-ms`, which OpenAI's clients read
 * first, or by `retry-after` in seconds or as a date.
 */
export function retryAfterOf(headers: { get(name: string): string | null }): number | undefined {
  const after = headers.get('retry-after') ?? '';
  const waits = [
    parseFloat(headers.get('retry-after-ms') ?? ''),
    parseFloat(after) * 1_000,
    Date.parse(after) - Date.now(),
  ];
  const waitMs = waits.find((ms) => Number.isFinite(ms));
  return waitMs === undefined ? undefined : Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS);
}

/** The code of a network failure that left a request without a response; undefined for other errors. */
export function networkCodeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return typeof cause?.code === 'string' ? cause.code : undefined;
}

/** Says why a request got no response. Other messages of the library are not used, because they may contain URLs. */
export function failureOf(error: unknown): string {
  return `failed to respond: ${networkCodeOf(error) ?? 'the connection was closed'}`;
}

/** @throws the error of `createTooLongError` for a body of more than `maxBytes` */
export function readText(body: unknown, maxBytes: number, createTooLongError: () => Error): Promise<string> {
  return readParts(body, (bytes) => {
    if (bytes > maxBytes) throw createTooLongError();
    return true;
  });
}

/** Reads the beginning of a body, at least `bytes` long if the body is. */
export function readBeginning(body: unknown, bytes: number): Promise<string> {
  return readParts(body, (read) => read < bytes);
}

/**
 * Reads the beginning of a rejection's body for a report. Never rejects, and waits 500 ms at most, because the
 * caller does not wait for the reason of a failure.
 */
export async function readReason(body: unknown): Promise<string> {
  const iterator = ((body ?? []) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]?.();
  if (iterator === undefined) return '';
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), REASON_WITHIN_MS)));
  try {
    while (bytes < MAX_REASON_BYTES) {
      const next = await Promise.race([iterator.next(), expired]);
      if (next === undefined || next.done === true) break;
      parts.push(next.value);
      bytes += next.value.length;
    }
  } catch {
    // The connection broke; what has arrived so far is the reason.
  }
  clearTimeout(timer);
  void Promise.resolve(iterator.return?.()).catch(() => undefined);
  return Buffer.concat(parts).toString('utf8');
}

/** The reason of a rejected upgrade to a WebSocket. Ends the request. */
export async function rejectedUpgrade(request: ClientRequest, response: IncomingMessage) {
  const { statusCode: status = 0, headers } = response;
  const body = await readReason(response);
  request.destroy();
  return { status, headers, body };
}

/** @param goesOn whether to read more after this many bytes */
async function readParts(body: unknown, goesOn: (bytes: number) => boolean): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part);
    bytes += part.length;
    if (!goesOn(bytes)) break;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Parses JSON; undefined if the text is something else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
