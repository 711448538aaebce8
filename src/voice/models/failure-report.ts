import { parseJson } from './http-api.js';

/** A provider's words and codes about a failure, without keys, phone numbers and words of the call. */
export interface FailureReport {
  /** The name of the provider in the settings, such as `openai`. */
  provider?: string;
  /** The HTTP status, or the code with which a socket was closed. */
  status?: number;
  code?: string;
  /** The provider's id of the request or session, which its support asks for. */
  requestId?: string;
  message?: string;
}

type Headers = Readonly<Record<string, string | string[] | undefined>> | { get(name: string): string | null };

/**
 * The headers with the id of a request: OpenAI (`openai` 7.57.0, `core/error.js`), Deepgram (changelog of 2022-11-08),
 * ElevenLabs (answers of its support; `errors/ElevenLabsError.js` of `@elevenlabs/elevenlabs-js` 2.73.0 reads the first).
 */
const REQUEST_ID_HEADERS = ['x-request-id', 'dg-request-id', 'request-id'];
/** Deepgram repeats the body of a rejected upgrade here, because most clients cannot read that body. */
const ERROR_HEADER = 'dg-error';

const MAX_BODY_CHARACTERS = 4_096;
const MAX_MESSAGE_CHARACTERS = 300;
const GAP = '…';
/** So many words in a row that we sent, too, are a quotation. */
const QUOTED_WORDS = 3;

/**
 * Makes a report of a provider's answer.
 * @param p.body the answer as text, or a decoded message that reports the failure
 * @param p.sent what the provider may quote: the texts of the request
 * @param p.secrets keys that were sent
 */
export function reportFailure(p: {
  provider: string;
  status?: number;
  headers?: Headers;
  body?: unknown;
  sent?: string;
  secrets?: readonly string[];
}): FailureReport {
  const headers = p.headers ?? {};
  const body = p.body === undefined || p.body === '' ? headerOf(headers, ERROR_HEADER) : p.body;
  const { code, message, requestId } = detailsIn(body);
  const id =
    REQUEST_ID_HEADERS.map((name) => headerOf(headers, name)).find((value) => value !== undefined) ?? requestId;
  const redacted = message === undefined ? '' : redact(message, p.sent ?? '', p.secrets ?? []);
  return {
    provider: p.provider,
    ...(p.status === undefined ? {} : { status: p.status }),
    ...nameField('code', code, p.secrets),
    ...nameField('requestId', id, p.secrets),
    ...(redacted === '' ? {} : { message: redacted }),
  };
}

function headerOf(headers: Headers, name: string): string | undefined {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A field whose value has the form of a code or an id; nothing for other values. */
function nameField(field: string, value: unknown, secrets: readonly string[] = []): Record<string, string> {
  const text = typeof value === 'number' ? String(value) : value;
  const isName = typeof text === 'string' && /^[\w.:-]{1,100}$/.test(text) && !/^\d{6,}$/.test(text);
  return isName && !secrets.includes(text) ? { [field]: text } : {};
}

interface Details {
  code?: unknown;
  message?: string;
  requestId?: unknown;
}

/**
 * Finds code and message in the errors of OpenAI (`error`), ElevenLabs (`detail`, or `error` with a text on sockets),
 * Deepgram (`err_code`, `description`) and of servers based on FastAPI (`detail`).
 */
function detailsIn(body: unknown): Details {
  if (typeof body === 'string') {
    const text = body.slice(0, MAX_BODY_CHARACTERS);
    const parsed = parseJson(text);
    if (isObject(parsed)) return detailsIn(parsed);
    // A page of a proxy says nothing that the status does not say.
    return parsed !== undefined || /^\s*[<[{]/.test(text) ? {} : { message: text };
  }
  if (!isObject(body)) return {};
  const inner = [body['error'], body['detail']].find(isObject) ?? body;
  const texts = [
    inner['message'],
    inner['err_msg'],
    inner['description'],
    body['reason'],
    body['error'],
    body['detail'],
  ];
  const message = texts.find((text) => typeof text === 'string');
  // On ElevenLabs' sockets `code` is that of the close, and `error` says why.
  const named = typeof body['message'] === 'string' ? body['error'] : undefined;
  return {
    code: [named, inner['code'], inner['err_code'], inner['status'], inner['type']].find(isGiven),
    ...(message === undefined ? {} : { message }),
    requestId: [inner, body, body['metadata']].filter(isObject).find((part) => isGiven(part['request_id']))?.[
      'request_id'
    ],
  };
}

const isGiven = (value: unknown) => (typeof value === 'string' && value !== '') || typeof value === 'number';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes what may be a key, a phone number, an address or a quotation of the call. */
function redact(message: string, sent: string, secrets: readonly string[]): string {
  let text = message.slice(0, MAX_BODY_CHARACTERS).replace(/\s+/g, ' ').trim();
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, GAP);
  text = withoutSentences(text)
    .split(' ')
    .map((word) => (word.includes('@') ? GAP : word.replace(/\?.*/, '')))
    .join(' ')
    .replace(/[\w*-]{4,}/g, (word) => (looksSecret(word) ? GAP : word))
    .replace(/\+?\d[\d ().-]{4,}\d/g, GAP);
  return withoutQuotations(text, sent).slice(0, MAX_MESSAGE_CHARACTERS);
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’' };

/** Keeps quoted names, such as those of models and parameters, and removes quoted sentences. */
function withoutSentences(text: string): string {
  let kept = '';
  let hasApostrophes = false;
  for (let at = 0; at < text.length; at += 1) {
    const opening = text.charAt(at);
    const closing = CLOSING[opening];
    kept += opening;
    // Within a word it is an apostrophe.
    if (closing === undefined || (opening === "'" && (hasApostrophes || /\w/.test(text.charAt(at - 1))))) continue;
    const end = text.indexOf(closing, at + 1);
    if (end < 0 && opening === "'") hasApostrophes = true;
    else if (end < 0) return kept + GAP;
    else {
      const quoted = text.slice(at + 1, end);
      kept += (/^[\w.:/[\]-]{0,64}$/.test(quoted) ? quoted : GAP) + closing;
      at = end;
    }
  }
  return kept;
}

function looksSecret(word: string): boolean {
  return word.includes('*') || /^(sk|pk|key|org|proj)[-_]/i.test(word) || (word.length >= 24 && /\d/.test(word));
}

function withoutQuotations(text: string, sent: string): string {
  const known = ` ${wordsOf(sent).join(' ')} `;
  const parts = text.split(' ');
  const isQuoted = parts.map(() => false);
  for (let at = 0; at + QUOTED_WORDS <= parts.length; at += 1) {
    const words = wordsOf(parts.slice(at, at + QUOTED_WORDS).join(' '));
    if (words.length < QUOTED_WORDS || !known.includes(` ${words.join(' ')} `)) continue;
    isQuoted.fill(true, at, at + QUOTED_WORDS);
  }
  const kept = parts.map((part, at) => (isQuoted[at] === true ? GAP : part));
  return kept.filter((part, at) => part !== GAP || kept[at - 1] !== GAP).join(' ');
}

function wordsOf(text: string): string[] {
  // Line breaks of JSON are two characters.
  return (
    text
      .replace(/\\[nrt]/g, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
