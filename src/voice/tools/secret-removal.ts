import { parseShallowJson } from './shallow-json.js';

/** Minimum length of header values that are redacted. Shorter ones may occur in a response by coincidence. */
const SHORTEST_SECRET = 6;
const PLACEHOLDER = '[redacted]';

/**
 * Redacts the secrets of a request in its response, because some servers echo the request and the model must not read secrets.
 * Each character of the response is looked at once for each secret, and a replacement is never searched: a secret may be a
 * piece of the placeholder, and repeated replacement would make the text grow without bound.
 */
export function withoutSecrets(body: string, secrets: readonly string[]): string {
  // JSON may escape any character, for example `/` as `\/`, so search the form that has the fewest escapes.
  const text = rewrittenJson(body);
  const ends = findSecrets(written(secrets), text);
  return ends === undefined ? body : withPlaceholders(text, ends);
}

function rewrittenJson(text: string): string {
  try {
    return JSON.stringify(parseShallowJson(text));
  } catch {
    return text;
  }
}

/** The forms in which secrets may be written: whole or without a scheme such as `Bearer`, as they are or as JSON. */
function written(secrets: readonly string[]): string[] {
  const tokens = secrets.flatMap((secret) => [secret, secret.slice(secret.lastIndexOf(' ') + 1)]);
  const forms = tokens.flatMap((token) => [token, JSON.stringify(token).slice(1, -1)]);
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST_SECRET);
}

/** Returns for each position where the longest secret ends that begins there, or 0; undefined if there is no secret. */
function findSecrets(secrets: readonly string[], text: string): Uint32Array | undefined {
  let ends: Uint32Array | undefined;
  for (const secret of secrets) {
    for (let start = text.indexOf(secret); start >= 0;) {
      const end = start + secret.length;
      ends ??= new Uint32Array(text.length);
      ends[start] = Math.max(ends[start] ?? 0, end);
      start = text.indexOf(secret, end);
    }
  }
  return ends;
}

/** Puts one placeholder in place of secrets that overlap, because one may contain another or begin within it. */
function withPlaceholders(text: string, ends: Uint32Array): string {
  const parts: string[] = [];
  /** The end of the last secrets, and of the text that is in `parts`. */
  let end = 0;
  ends.forEach((secretEnd, position) => {
    if (secretEnd === 0) return;
    if (position >= end || parts.length === 0) parts.push(text.slice(end, position), PLACEHOLDER);
    end = Math.max(end, secretEnd);
  });
  return parts.join('') + text.slice(end);
}
