import type { Mode } from '../../kernel/ids.js';
import { ApiError, queryText, createApiError } from '../../sdk/api-error.js';

export { ApiError, queryText };
export type { Mode };

type Query = Record<string, string | number | boolean | undefined>;

interface RequestOptions {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

/** A log-in responds with 401 to a wrong password, and a log-out needs no new session. */
const WITHOUT_SESSION = ['/portal/log-in', '/portal/log-out'];

export type Api = ReturnType<typeof createApi>;

/**
 * Creates a typed client for the service. It sends requests to the same origin, with the session cookie, and JSON in
 * both directions.
 * @param deps.renewSession asks the user to log in again after the session has ended. Resolves with true if the request
 *   can be repeated
 * @param deps.onReachable receives whether a request reached the service
 */
export function createApi(deps: {
  mode: () => Mode;
  renewSession: () => Promise<boolean>;
  onReachable: (isReachable: boolean) => void;
}) {
  async function send(method: string, path: string, { query, body, signal }: RequestOptions): Promise<Response> {
    try {
      // Routes under /portal/ have no mode. All others use the selected mode, unless the query sets one.
      const ofMode = path.startsWith('/portal/') ? {} : { mode: deps.mode() };
      const response = await fetch(path + queryText({ ...ofMode, ...query }), {
        method,
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
      deps.onReachable(true);
      return response;
    } catch (error) {
      if (signal?.aborted) throw error;
      deps.onReachable(false);
      throw new ApiError(0, 'UNREACHABLE', 'The service cannot be reached. Check your connection and try again.');
    }
  }

  async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    let response = await send(method, path, options);
    if (response.status === 401 && !WITHOUT_SESSION.includes(path) && (await deps.renewSession())) {
      options.signal?.throwIfAborted();
      response = await send(method, path, options);
    }
    if (response.status === 204) return undefined as T;
    const responseBody: unknown = await response.json().catch(() => undefined);
    if (response.ok) return responseBody as T;
    throw createApiError(response.status, responseBody);
  }

  return {
    get: <T>(path: string, query?: Query, signal?: AbortSignal) =>
      request<T>('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) }),
    post: <T>(path: string, body: unknown = {}, query?: Query) =>
      request<T>('POST', path, { body, ...(query ? { query } : {}) }),
    patch: <T>(path: string, body: unknown) => request<T>('PATCH', path, { body }),
    delete: <T>(path: string) => request<T>('DELETE', path),
  };
}

/** Whether a request failed because the service could not be reached. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0;
}
