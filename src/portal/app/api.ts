/** A refusal by the service, or the network's failure (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** What the server says of single fields, by their names. */
    readonly fields: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

export type Mode = 'live' | 'test';

type Query = Record<string, string | number | boolean | undefined>;

interface RequestOptions {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

export type Api = ReturnType<typeof createApi>;

/** The typed way to the service: one origin, the session's cookie, JSON both ways. */
export function createApi(deps: { mode: () => Mode; onSessionLost: () => void }) {
  async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const { query, body, signal } = options;
    let response: Response;
    try {
      // The routes of people are of no mode; all others are of the one that is looked at.
      const ofMode = path.startsWith('/portal/') ? {} : { mode: deps.mode() };
      response = await fetch(path + queryText({ ...query, ...ofMode }), {
        method,
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'NETWORK', 'The service cannot be reached. Check your connection and try again.');
    }
    if (response.status === 204) return undefined as T;
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok) return answer as T;
    const error = errorOf(response.status, answer);
    if (response.status === 401 && !path.startsWith('/portal/')) deps.onSessionLost();
    throw error;
  }

  return {
    get: <T>(path: string, query?: Query, signal?: AbortSignal) =>
      request<T>('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) }),
    post: <T>(path: string, body: unknown = {}) => request<T>('POST', path, { body }),
    patch: <T>(path: string, body: unknown) => request<T>('PATCH', path, { body }),
    delete: <T>(path: string) => request<T>('DELETE', path),
  };
}

export function queryText(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

function errorOf(status: number, answer: unknown): ApiError {
  if (typeof answer !== 'object' || answer === null || !('message' in answer)) {
    return new ApiError(status, 'UNKNOWN', `The service answered with status ${status}.`);
  }
  const code = 'error_code' in answer ? String(answer.error_code) : 'UNKNOWN';
  const fields = 'fields' in answer && typeof answer.fields === 'object' ? { ...answer.fields } : {};
  return new ApiError(status, code, String(answer.message), fields as Record<string, string>);
}
