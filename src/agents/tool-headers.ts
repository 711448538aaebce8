import { urlFrom } from '../kernel/text.js';
import { ServiceError } from '../kernel/errors.js';
import type { HttpTool, ListedTool, StoredHeader } from './model.js';
import type { GivenTool } from './tool-rules.js';
import type { SecretBox } from '../platform/secrets/secret-box.js';

const MAX_HEADERS = 10;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_VALUE_LENGTH = 2_048;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * Header names that customers cannot set: the service or its HTTP client sets them, or they apply to one connection
 * only.
 */
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
 * Converts tools to their stored form, with encrypted header values. If an existing tool's URL stays at the same
 * origin, the tool keeps those headers that the request does not mention.
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
    // If there are far too many headers, reject them before any of them is encrypted.
    if (Object.keys(given.headers ?? {}).length > 2 * MAX_HEADERS) throw tooMany(place);
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
  if (new Set(names).size < names.length) throw invalidHeaders(p.place, 'headers must not contain the same name twice');
  for (const [name, value] of entries) assertHeader(p.place, name, value);
  const kept = (p.before?.headers ?? []).filter(({ name }) => !names.includes(name.toLowerCase()));
  const [origin, originBefore] = [originOf(p.tool.url), originOf(p.before?.url ?? '')];
  if (kept.length > 0 && origin !== originBefore) {
    throw invalidHeaders(
      p.place,
      'headers must be given again, or removed with null, because url now leads to another server',
    );
  }
  const fresh = entries.filter((entry): entry is [string, string] => entry[1] !== null);
  if (kept.length + fresh.length > MAX_HEADERS) throw tooMany(p.place);
  const seal = (name: string, value: string) => {
    if (p.box === undefined)
      throw invalidHeaders(
        p.place,
        'headers cannot be stored, because the operator of this service has not set ENCRYPTION_KEYS',
      );
    return p.box.seal(headerContext(p.accountId, p.tool.url, name), value);
  };
  return [...kept, ...fresh.map(([name, value]) => ({ name, sealed: seal(name, value) }))];
}

function tooMany(place: string): ServiceError {
  return invalidHeaders(place, `headers must have at most ${MAX_HEADERS} entries`);
}

/**
 * Decrypts the headers of a tool. Send them only to the tool's own URL. Decryption fails if the URL has another origin
 * than the one for which the headers were given.
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

function assertHeader(place: string, name: string, value: string | null): void {
  const lower = name.toLowerCase();
  if (!NAME.test(name))
    throw invalidHeaders(place, 'the name of each header must have 1 to 64 letters, digits, - or _');
  if (RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
    throw invalidHeaders(place, `headers must not set ${name}, which the service sets itself`);
  }
  if (value !== null && !isValue(value)) {
    throw invalidHeaders(
      place,
      `the value of the header ${name} must have 1 to 2,048 printable ASCII characters, without spaces at its start or end`,
    );
  }
}

function isValue(text: string): boolean {
  return text.length <= MAX_VALUE_LENGTH && PRINTABLE_ASCII.test(text) && text.trim() === text;
}

/**
 * Returns the context with which a header value is encrypted. It binds the value to the account, origin and header
 * name.
 */
export function headerContext(accountId: string, url: string, name: string): string {
  return `tool-header ${accountId} ${originOf(url)} ${name.toLowerCase()}`;
}

function originOf(url: string): string {
  return urlFrom(url)?.origin ?? '';
}

function invalidHeaders(place: string, fault: string): ServiceError {
  return new ServiceError('MISSING_PARAMS', `tools: ${fault}.`, {
    fields: { tools: `tools: ${fault}.`, [place]: `${fault}.` },
  });
}
