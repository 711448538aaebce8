import { serverSentEvents, type ServerSentEvent } from '../kernel/server-sent-events.js';
import { ApiError, queryText } from './api-error.js';
import type { ResponseOf, EventsPath, InputsOf, ListPath, Method, OperationAt, PathOf, QueryOf } from './operations.js';
import { createTransport } from './transport.js';

/** Settings of any request. */
export interface RequestSettings {
  signal?: AbortSignal;
  /** Timeout for the request and its response in ms; 30 s by default. */
  timeoutMs?: number;
  /** Makes a POST safe to retry, because the service executes a POST only once per key. */
  idempotencyKey?: string;
}

type Given<M extends Method, P> = InputsOf<OperationAt<M, P>> & RequestSettings;
type Arguments<T> = object extends T ? [request?: T] : [request: T];
type PendingResponse<M extends Method, P> = Promise<ResponseOf<OperationAt<M, P>>>;
type Asking<M extends Method> = <P extends PathOf<M>>(
  path: P,
  ...request: Arguments<Given<M, P>>
) => PendingResponse<M, P>;

/** A page of a list. */
export type PageOf<P extends ListPath> = ResponseOf<OperationAt<'get', P>>;

export type Client = ReturnType<typeof createClient>;

const LARGEST_PAGE = 100;
const STATEMENT_TIMEOUT_MS = 120_000;

/**
 * Creates a client for the service's HTTP API. The route table declares the types of paths, parameters, bodies and
 * responses, so undeclared ones do not compile. Every method throws ApiError, both for error responses and when the
 * service is unreachable.
 */
export function createClient(options: { baseUrl: string; apiKey: string }) {
  const transport = createTransport(options);

  async function ask(method: Method, path: string, request: Loose = {}): Promise<unknown> {
    const { params: _params, query: _query, ...settings } = request;
    return await transport.json(method, pathOf(path, request), { accept: 'application/json', ...settings });
  }
  const asking = <M extends Method>(method: M) =>
    ((path: string, request?: Loose) => ask(method, path, request)) as Asking<M>;

  return {
    get: asking('get'),
    post: asking('post'),
    patch: asking('patch'),
    delete: asking('delete'),

    /**
     * Yields the pages of a list, and requests each page only when it is needed.
     * @param most maximum entries over all pages; default: all
     */
    async *pages<P extends ListPath>(
      path: P,
      query: QueryOf<OperationAt<'get', P>>,
      most = Infinity,
    ): AsyncGenerator<PageOf<P>> {
      let { cursor }: { cursor?: string | undefined } = query;
      for (let left = most; left > 0;) {
        const limit = String(Math.min(left, LARGEST_PAGE));
        const page = (await ask('get', path, { query: { ...query, cursor, limit } })) as ListResponse;
        yield page as PageOf<P>;
        left -= page.data.length;
        cursor = page.next_cursor;
        if (cursor === undefined) return;
      }
    },

    /** Streams a statement as CSV. */
    async *csv<P extends '/ledger' | '/usage'>(path: P, query: QueryOf<OperationAt<'get', P>>): AsyncGenerator<string> {
      const settings = { accept: 'text/csv', timeoutMs: STATEMENT_TIMEOUT_MS };
      const decoder = new TextDecoder();
      for await (const chunk of transport.stream(path + queryText({ ...query, format: 'csv' }), settings)) {
        yield decoder.decode(chunk, { stream: true });
      }
    },

    /**
     * Reads a stream of server-sent events until the service ends it.
     * @param p.lastEventId id of the last event received on an earlier stream, to continue after it
     */
    async *events<P extends EventsPath>(
      path: P,
      p: { params: Record<string, string>; lastEventId?: string | undefined; signal?: AbortSignal },
    ): AsyncGenerator<ServerSentEvent> {
      const { params, lastEventId, signal } = p;
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const settings = { accept: 'text/event-stream', headers, ...(signal === undefined ? {} : { signal }) };
      yield* serverSentEvents(transport.stream(pathOf(path, { params }), settings));
    },
  };
}

type QueryText = Readonly<Record<string, string | undefined>>;
interface ListResponse {
  data: unknown[];
  next_cursor?: string | undefined;
}

/** A loosely typed request. The public methods check each operation's types. */
interface Loose extends RequestSettings {
  params?: Record<string, string>;
  query?: QueryText;
  body?: object;
}

/**
 * Fills in the path parameters.
 * @throws ApiError when a parameter is empty or consists of dots, because that would change the path
 */
function pathOf(path: string, { params = {}, query }: Loose): string {
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name] ?? '';
    if (/^\.{0,2}$/.test(value)) {
      const fault = 'must not be empty or consist of dots.';
      throw new ApiError(0, 'MISSING_PARAMS', `${name}: ${fault}`, { fields: { [name]: fault } });
    }
    return encodeURIComponent(value);
  });
  return filled + queryText(query);
}
