import type { IncomingMessage, ServerResponse } from 'node:http';

/** The content of a provider's lists, and the key that they require. */
export interface FakeLists {
  key: string;
  models: string[];
  /** Voices of an ElevenLabs account, in the order of the list. */
  voices: FakeAccountVoice[];
  /** The tier of the ElevenLabs account. */
  tier: string;
  /** The dates on which OpenAI will shut down models. */
  shutdownDates: Record<string, string>;
  /** The status with which the provider fails each request for a list. */
  failsWith?: number | undefined;
  /** The paths of the lists that a client asked for. */
  asked: string[];
}

export interface FakeAccountVoice {
  voice_id: string;
  category?: string;
  labels?: Record<string, string>;
  created_at_unix?: number;
  is_owner?: boolean;
}

/** Handles a request for a list. Returns false if the path is not one of a list. */
type AnswerLists = (request: IncomingMessage, response: ServerResponse, lists: FakeLists) => boolean;

export function fakeLists(key: string, models: string[], voices: FakeAccountVoice[] = []): FakeLists {
  return { key, models, voices, tier: 'starter', shutdownDates: {}, asked: [] };
}

/**
 * OpenAI's `GET /models` and `GET /models/{model}`: openai 7.57.0, `resources/models.d.ts`. Errors: of a wrong key
 * https://github.com/popjane/free_chatgpt_api/issues/3, of an unknown model https://github.com/Aider-AI/aider/issues/2030.
 */
export const answerOpenAiLists: AnswerLists = ({ method, url, headers }, response, lists) => {
  const { key, models } = lists;
  const match = /^\/v1\/models(?:\/(?<id>[^/?]+))?$/.exec(url ?? '');
  if (method !== 'GET' || match === null) return false;
  lists.asked.push(match[0]);
  const id = match.groups?.['id'] === undefined ? undefined : decodeURIComponent(match.groups['id']);
  if (headers.authorization !== `Bearer ${key}`) {
    return send(response, 401, openAiError('Incorrect API key provided: te*****ey.', 'invalid_api_key'));
  }
  const model = (name: string) => ({
    id: name,
    object: 'model',
    created: 1_760_000_000,
    owned_by: 'system',
    shutdown_date: lists.shutdownDates[name] ?? null,
  });
  if (id === undefined) return send(response, 200, { object: 'list', data: models.map(model) });
  if (models.includes(id)) return send(response, 200, model(id));
  return send(response, 404, openAiError(`The model '${id}' does not exist`, 'model_not_found'));
};

/**
 * Deepgram's `GET /v1/models`, which needs no key (https://developers.deepgram.com/docs/model-metadata), and
 * `GET /v1/auth/token`, the test of a key in https://developers.deepgram.com/docs/authenticating. Fields:
 * \@deepgram/sdk 5.13.0, `ListModelsV1ResponseSttModels.d.ts`.
 */
export const answerDeepgramLists: AnswerLists = ({ method, url = '', headers }, response, lists) => {
  const { key, models } = lists;
  if (method !== 'GET') return false;
  lists.asked.push(url);
  if (url === '/v1/models') return send(response, 200, { stt: models.map(deepgramModel), tts: [] });
  if (url !== '/v1/auth/token') return false;
  if (headers.authorization === `Token ${key}`)
    return send(response, 200, { api_key_id: 'id', scopes: ['usage:write'] });
  return send(response, 401, { err_code: 'INVALID_AUTH', err_msg: 'Invalid credentials.', request_id: 'r' });
};

/** @param canonicalName for example `nova-3-general`, whose architecture is `nova-3` */
function deepgramModel(canonicalName: string) {
  const parts = canonicalName.split('-');
  return {
    name: parts.at(-1),
    canonical_name: canonicalName,
    architecture: parts.slice(0, -1).join('-'),
    languages: ['en'],
    version: '2026-01-01.0',
    uuid: '6b28e919-8427-4f32-9847-492e2efd7daf',
    batch: true,
    streaming: true,
    formatted_output: true,
  };
}

const ELEVENLABS_PATHS = ['/v1/models', '/v2/voices', '/v1/user/subscription'];

/**
 * ElevenLabs' lists, `GET /v1/user/subscription` and `GET /v1/voices/{voice_id}`: \@elevenlabs/elevenlabs-js 2.73.0, `serialization/types/Voice.js`,
 * `GetVoicesV2Response.js`, `Model.js`, `Subscription.js`, `VoicesSearchRequest.d.ts`. Errors: https://elevenlabs.io/docs/eleven-api/resources/errors
 * and, for an unknown voice, https://github.com/elevenlabs/elevenlabs-docs/pull/1317.
 */
export const answerElevenLabsLists: AnswerLists = ({ method, url, headers }, response, lists) => {
  const { key, models, voices } = lists;
  const { pathname, searchParams } = new URL(url ?? '', 'http://fake');
  const voice = /^\/v1\/voices\/(?<id>[^/]+)$/.exec(pathname)?.groups?.['id'];
  if (method !== 'GET' || (voice === undefined && !ELEVENLABS_PATHS.includes(pathname))) return false;
  lists.asked.push(pathname);
  if (lists.failsWith !== undefined) return send(response, lists.failsWith, { detail: 'Something went wrong.' });
  if (headers['xi-api-key'] !== key) {
    return send(response, 401, elevenLabsError('authentication_error', 'invalid_api_key', 'Invalid API key'));
  }
  if (pathname === '/v1/models') {
    return send(
      response,
      200,
      models.map((id) => ({ model_id: id, name: id, can_do_text_to_speech: !id.startsWith('scribe') })),
    );
  }
  if (pathname === '/v1/user/subscription') return send(response, 200, { tier: lists.tier, character_count: 0 });
  if (pathname === '/v2/voices') return sendPage(response, searchParams, voices);
  const found = voices.find((one) => one.voice_id === voice);
  if (found !== undefined) return send(response, 200, found);
  const message = `A voice with the voice_id ${voice} was not found.`;
  return send(response, 404, elevenLabsError('not_found', 'voice_not_found', message));
};

function sendPage(response: ServerResponse, query: URLSearchParams, voices: FakeAccountVoice[]): true {
  const size = Number(query.get('page_size') ?? 10);
  if (!(size >= 1 && size <= 100)) return send(response, 422, { detail: [{ loc: ['query', 'page_size'] }] });
  const from = Number(query.get('next_page_token') ?? 0);
  const hasMore = from + size < voices.length;
  return send(response, 200, {
    voices: voices.slice(from, from + size),
    has_more: hasMore,
    total_count: 0,
    next_page_token: hasMore ? String(from + size) : null,
  });
}

export function openAiError(message: string, code: string | null) {
  return { error: { message, type: 'invalid_request_error', param: null, code } };
}

export function elevenLabsError(type: string, code: string, message: string) {
  return { detail: { type, code, message, status: code, request_id: 'r', param: null } };
}

export function send(response: ServerResponse, status: number, body: unknown): true {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
  return true;
}
