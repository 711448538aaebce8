import { urlFrom } from '../kernel/text.js';
import { ServiceError } from '../kernel/errors.js';
import type { HttpTool, ListedTool, StoredHeader } from './model.js';
import type { GivenTool } from './tool-rules.js';
import type { SecretBox } from '../platform/secrets/secret-box.js';

const MOST_HEADERS = 10;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_VALUE_LENGTH = 2_048;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** Headers that are set by the service or its HTTP client, or that apply to a single connection. */
const RESERVED = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);
const RESERVED_PREFIXES = ['proxy-', 'webhook-', 'x-callwright-'];

/**
 * Converts tools to their stored form, with encrypted header values. An existing tool keeps the headers that are not
 * given, as long as its URL keeps its origin.
 * @param p.present the agent's current tools
 * @param p.box absent when the configuration is unknown; then headers are rejected
 * @throws ServiceError MISSING_PARAMS naming the tool, never with a header value
 */
export function storedTools(p: {
  tools: readonly GivenTool[];
  present: readonly HttpTool[];
  accountId: string;
  box: SecretBox | undefined;
}): HttpTool[] {
  return p.tools.map((given, index) => {
    const place = `tools.${index}.headers`;
    // Reject a huge number before encrypting any of them.
    if (Object.keys(given.headers ?? {}).length > 2 * MOST_HEADERS) throw tooMany(place);
    const { headers: _given, header_names: _names, ...tool } = given;
    const before = p.present.find(({ name }) => name === tool.name);
    const headers = storedHeaders(given.headers, { ...p, place, tool, before });
    return headers.length === 0 ? tool : { ...tool, headers };
  });
}

function storedHeaders(
  given: Record<string, string | null> | null | undefined,
  p: {
    place: string;
    tool: GivenTool | HttpTool;
    before: HttpTool | undefined;
    accountId: string;
    box: SecretBox | undefined;
  },
): StoredHeader[] {
  if (given === null) return [];
  const entries = Object.entries(given ?? {});
  const names = entries.map(([name]) => name.toLowerCase());
  if (new Set(names).size < names.length) throw refused(p.place, 'headers must not name one header twice');
  for (const [name, value] of entries) refuseHeader(p.place, name, value);
  const kept = (p.before?.headers ?? []).filter(({ name }) => !names.includes(name.toLowerCase()));
  const [origin, originBefore] = [originOf(p.tool.url), originOf(p.before?.url ?? '')];
  if (kept.length > 0 && origin !== originBefore) {
    throw refused(p.place, 'headers must be given again, or removed with null, because the url has another origin');
  }
  const fresh = entries.filter((entry): entry is [string, string] => entry[1] !== null);
  if (kept.length + fresh.length > MOST_HEADERS) throw tooMany(p.place);
  const seal = (name: string, value: string) => {
    if (p.box === undefined) throw refused(p.place, 'headers cannot be stored without ENCRYPTION_KEYS');
    return p.box.seal(headerContext(p.accountId, p.tool.url, name), value);
  };
  return [...kept, ...fresh.map(([name, value]) => ({ name, sealed: seal(name, value) }))];
}

function tooMany(place: string): ServiceError {
  return refused(place, `headers must be at most ${MOST_HEADERS}`);
}

/**
 * Decrypts the headers of a tool. Send them only to the tool's own URL: decryption fails for any other origin than the
 * one they were given for.
 * @throws Error when the encryption key of a header is no longer configured
 */
export function openToolHeaders(tool: HttpTool, accountId: string, box: SecretBox): Record<string, string> {
  return Object.fromEntries(
    (tool.headers ?? []).map(({ name, sealed }) => [name, box.open(headerContext(accountId, tool.url, name), sealed)]),
  );
}

/** Converts a tool to its representation for the owner: header names without values. */
export function toolView({ headers = [], ...tool }: ListedTool) {
  return headers.length === 0 ? tool : { ...tool, header_names: headers.map(({ name }) => name) };
}

function refuseHeader(place: string, name: string, value: string | null): void {
  const lower = name.toLowerCase();
  if (!NAME.test(name)) throw refused(place, 'headers must have names of 1 to 64 letters, digits, - and _');
  if (RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
    throw refused(place, `headers must not set ${name}, which the service sets itself`);
  }
  if (value !== null && !isValue(value)) {
    throw refused(place, `headers must have values of 1 to 2,048 printable ASCII characters; ${name} has not`);
  }
}

function isValue(text: string): boolean {
  return text.length <= MAX_VALUE_LENGTH && PRINTABLE_ASCII.test(text) && text.trim() === text;
}

/** Encryption context of a header value, which binds it to the account, origin and name. */
export function headerContext(accountId: string, url: string, name: string): string {
  return `tool-header ${accountId} ${originOf(url)} ${name.toLowerCase()}`;
}

function originOf(url: string): string {
  return urlFrom(url)?.origin ?? '';
}

function refused(place: string, fault: string): ServiceError {
  return new ServiceError('MISSING_PARAMS', `tools: ${fault}.`, {
    fields: { tools: `tools: ${fault}.`, [place]: `${fault}.` },
  });
}
