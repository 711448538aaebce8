import type { AttemptHeader } from './model.js';

/** Limits for the stored headers of one request or response. A delivery has up to 204 attempts. */
const MAX_HEADERS = 32;
const MAX_NAME_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 256;
/** Values are not cut further than to this, if there are too many. */
const MIN_VALUE_CHARACTERS = 32;
const MAX_CHARACTERS = 2_048;

/** Names of headers whose value may be a secret of the endpoint or prove who sent a request. */
const MAY_BE_SECRET =
  /auth|bearer|cookie|credential|csrf|hmac|jwt|key|nonce|otp|pass|secret|session|sig|ticket|token|xsrf|\bpin\b/i;
/** Parts of a URL that may contain secrets: the user info, and the query or fragment. */
const USER_INFO = /\/\/[^/?#\s]*@/g;
const QUERY = /[?#][^\s>]+/g;
const REDACTED = '[not stored]';

/**
 * Converts headers to the form in which they are stored with a webhook attempt. Values that may be secrets are replaced,
 * and so are user info and queries of URLs. Long values are shortened, the more the more of them there are.
 * @returns the headers, and how many were left out because they exceed the limits
 */
export function storableHeaders(headers: Readonly<Record<string, string | readonly string[] | undefined>>): {
  headers: AttemptHeader[];
  leftOut: number;
} {
  const all = Object.entries(headers).flatMap(([name, given]) => valuesOf(given).map((value) => ({ name, value })));
  const kept = all.slice(0, MAX_HEADERS).map(({ name, value }) => ({
    name: name.slice(0, MAX_NAME_CHARACTERS),
    value: MAY_BE_SECRET.test(name) ? REDACTED : withoutUrlSecrets(value),
  }));
  let most = MAX_VALUE_CHARACTERS;
  while (isTooLong(shortened(kept, most)) && most > MIN_VALUE_CHARACTERS) most /= 2;
  const stored = shortened(kept, most);
  while (isTooLong(stored)) stored.pop();
  return { headers: stored, leftOut: all.length - stored.length };
}

function shortened(headers: readonly AttemptHeader[], characters: number): AttemptHeader[] {
  return headers.map(({ name, value }) => ({ name, value: value.slice(0, characters) }));
}

function isTooLong(headers: readonly AttemptHeader[]): boolean {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0) > MAX_CHARACTERS;
}

function withoutUrlSecrets(value: string): string {
  return value.replace(USER_INFO, `//${REDACTED}@`).replace(QUERY, `?${REDACTED}`);
}

function valuesOf(given: string | readonly string[] | undefined): readonly string[] {
  if (given === undefined) return [];
  return typeof given === 'string' ? [given] : given;
}
