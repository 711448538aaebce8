/**
 * The query parameters of Deepgram's streams, as strict as the original: names by `V1Client.ConnectArgs` and
 * `V2Client.ConnectArgs` of `@deepgram/sdk` 5.13.0, ranges by the comments of `ListenV2EotThreshold` and
 * `ListenV2EotTimeoutMs` there, and by https://developers.deepgram.com/docs/flux/configuration (read 2026-11-23).
 */
const NOVA =
  'model encoding sample_rate language interim_results smart_format endpointing utterance_end_ms keyterm keywords';
const FLUX = 'model encoding sample_rate eot_threshold eager_eot_threshold eot_timeout_ms language_hint keyterm';
/** Parameters that may occur several times. */
const LISTS = ['keyterm', 'keywords'];
/** "500 tokens per request": https://developers.deepgram.com/docs/keyterm. A token has at least two characters. */
const MAX_TERM_CHARACTERS = 1_000;

/** Says why Deepgram responds with 400 to a stream with this URL; undefined if the parameters are valid. */
export function queryFault({ pathname, searchParams }: URL): string | undefined {
  const known = (pathname === '/v2/listen' ? FLUX : NOVA).split(' ');
  const names = [...searchParams.keys()];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) return `unknown parameter ${unknown}`;
  const repeated = names.find((name, index) => !LISTS.includes(name) && names.indexOf(name) !== index);
  if (repeated !== undefined) return `repeated parameter ${repeated}`;
  const terms = LISTS.flatMap((name) => searchParams.getAll(name));
  if (terms.some((term) => term.trim() === '')) return 'empty term';
  if (terms.join('').length > MAX_TERM_CHARACTERS) return 'too many terms';
  return pathname === '/v2/listen' ? fluxFault(searchParams) : novaFault(searchParams);
}

function novaFault(query: URLSearchParams): string | undefined {
  const isNova3 = (query.get('model') ?? '').startsWith('nova-3');
  // "Keywords are not supported for Nova-3. Please use `keyterm` instead.": EpicenterHQ/epicenter pull request 895, and
  // deepgram/deepgram-js-sdk issue 474. The SDK says of `keyterm`: "Only compatible with Nova-3".
  if (query.has(isNova3 ? 'keywords' : 'keyterm')) return 'the model has the other parameter for terms';
  // Interim results are sent every second, so a shorter gap cannot be found:
  // https://developers.deepgram.com/docs/utterance-end
  return (
    outOfRange(query, 'utterance_end_ms', [1_000, 60_000], true) ?? outOfRange(query, 'endpointing', [10, 60_000], true)
  );
}

function fluxFault(query: URLSearchParams): string | undefined {
  const [eager, certain] = [Number(query.get('eager_eot_threshold')), Number(query.get('eot_threshold') ?? 0.7)];
  if (query.has('eager_eot_threshold') && eager > certain) return 'eager_eot_threshold is above eot_threshold';
  return (
    outOfRange(query, 'eot_threshold', [0.5, 1]) ??
    outOfRange(query, 'eager_eot_threshold', [0.3, 0.9]) ??
    outOfRange(query, 'eot_timeout_ms', [500, 60_000], true)
  );
}

function outOfRange(
  query: URLSearchParams,
  name: string,
  [min, max]: readonly [number, number],
  isWhole = false,
): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  const isValid = value >= min && value <= max && (!isWhole || Number.isInteger(value));
  return isValid ? undefined : `${name} is ${text}`;
}
