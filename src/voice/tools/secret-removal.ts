import { parseShallowJson } from './shallow-json.js';

/** Minimum length of header values that are redacted. Shorter ones may occur in a response by coincidence. */
const SHORTEST_SECRET = 6;
const PLACEHOLDER = '[redacted]';

/**
 * Redacts the secrets of a request in its response, because some servers echo the request and the model must not read secrets.
 * Each pass searches each secret once and never searches its own placeholders: a secret may be a piece of the placeholder, and
 * repeated replacement would make the text grow without bound.
 */
export function withoutSecrets(body: string, secrets: readonly string[]): string {
  const forms = written(secrets);
  const text = redactedOnce(body, forms);
  // JSON may escape any character, for example `/` as `\/`, so search it again in the form that has the fewest escapes. That
  // form alone is not enough: it has rounded numbers, and only the last of several values with one name.
  const rewritten = rewrittenJson(text);
  const rewrittenText = rewritten === undefined ? undefined : redactedOnce(rewritten, forms);
  return rewrittenText === undefined || rewrittenText === rewritten ? text : rewrittenText;
}

/** Returns undefined if the text is not JSON. */
function rewrittenJson(text: string): string | undefined {
  try {
    return JSON.stringify(parseShallowJson(text));
  } catch {
    return undefined;
  }
}

function redactedOnce(text: string, secrets: readonly string[]): string {
  const ends = findSecrets(secrets, text);
  return ends === undefined ? text : withPlaceholders(text, ends);
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
