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

export type Api = ReturnType<typeof createApi>;

/**
 * Creates a typed client for the service. It sends requests to the same origin, with the session cookie, and JSON in
 * both directions.
 */
export function createApi(deps: { mode: () => Mode; onSessionLost: () => void }) {
  async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const { query, body, signal } = options;
    let response: Response;
    try {
      // Routes under /portal/ have no mode. All others use the selected mode, unless the query sets one.
      const ofMode = path.startsWith('/portal/') ? {} : { mode: deps.mode() };
      response = await fetch(path + queryText({ ...ofMode, ...query }), {
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
      throw new ApiError(0, 'UNREACHABLE', 'The service cannot be reached. Check your connection and try again.');
    }
    if (response.status === 204) return undefined as T;
    const responseBody: unknown = await response.json().catch(() => undefined);
    if (response.ok) return responseBody as T;
    const error = createApiError(response.status, responseBody);
    if (response.status === 401 && !path.startsWith('/portal/')) deps.onSessionLost();
    throw error;
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
