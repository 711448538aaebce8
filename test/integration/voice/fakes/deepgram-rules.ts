// The rules by which Deepgram accepts or rejects connections and messages.
import type { IncomingMessage } from 'node:http';
import type { RejectedUpgrade } from './loopback';

/**
 * The languages that the service offers and Deepgram's `/v1/listen` accepts, in the spelling of Deepgram's
 * documentation.
 */
const LANGUAGES = 'en en-US en-GB de es es-419 fr hi it ja nl pt pt-BR'.split(' ');

/** The ranges of Flux: the types of `@deepgram/sdk` 5.13.0, tried with the service in deepgram/deepgram-python-sdk#768. */
const RANGES: Record<string, readonly [number, number]> = {
  eot_threshold: [0.5, 1],
  eager_eot_threshold: [0.3, 0.9],
  eot_timeout_ms: [500, 60_000],
};

/** The messages that a stream takes: `ListenV1…` and `ListenV2…` of `@deepgram/sdk` 5.13.0. */
const CONTROLS: Record<string, readonly string[]> = {
  '/v1/listen': ['KeepAlive', 'Finalize', 'CloseStream'],
  '/v2/listen': ['CloseStream', 'Configure', 'ForceEndTurn'],
};

/**
 * Returns an error as Deepgram sends it. The id of the request and the error are in headers, too: Deepgram's changelog of
 * 2022-11-08. Codes: https://developers.deepgram.com/docs/errors.
 */
export function deepgramError(status: number, code: string, message: string): RejectedUpgrade {
  const body = JSON.stringify({ err_code: code, err_msg: message, request_id: 'b2c5a6f0-dead-4b4e-9e0e-1d2f3a4b5c6d' });
  return { status, headers: { 'dg-request-id': 'b2c5a6f0-dead-4b4e-9e0e-1d2f3a4b5c6d', 'dg-error': body }, body };
}

/** Returns the response with which Deepgram rejects a connection; undefined if it accepts the connection. */
export function connectionFault(
  { url = '', headers }: IncomingMessage,
  { key, models }: { key: string; models: readonly string[] },
): RejectedUpgrade | undefined {
  if (headers.authorization !== `Token ${key}`) return deepgramError(401, 'INVALID_AUTH', 'Invalid credentials.');
  const { pathname, searchParams } = new URL(url, 'ws://fake');
  const model = searchParams.get('model') ?? '';
  const isKnown = models.some((name) => name === model || name === `${model}-general`);
  const isOfProtocol = model.startsWith('flux') === (pathname === '/v2/listen');
  const language = searchParams.get('language');
  const isLanguage = language === null || LANGUAGES.includes(language);
  if (!isKnown || !isOfProtocol || !isLanguage)
    return deepgramError(400, 'Bad Request', 'No such model/language/tier combination found.');
  const wrong = Object.entries(RANGES).find(([name, [least, most]]) => {
    const given = searchParams.get(name);
    return given !== null && !(Number(given) >= least && Number(given) <= most);
  });
  if (wrong !== undefined)
    return deepgramError(400, 'Bad Request', `Invalid query string: ${wrong[0]} is out of range.`);
  // A language hint is only for multilingual models: `ListenV2LanguageHint` of the same types.
  return searchParams.has('language_hint') && !model.endsWith('-multi')
    ? deepgramError(400, 'Bad Request', 'language_hint is not supported by this model.')
    : undefined;
}

export const takesControl = (path: string, type: string): boolean => CONTROLS[path]?.includes(type) === true;
