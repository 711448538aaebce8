import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, queryText, createApiError } from '../../src/sdk/api-error.js';
import { createClient } from '../../src/sdk/client.js';
import { retryDelayAfter } from '../../src/sdk/transport.js';
import { watchCall } from '../../src/sdk/watch-call.js';
import { CALL_EXAMPLE } from '../../src/calls/views/schemas.js';

type Responder = (response: ServerResponse, request: IncomingMessage) => void;

/**
 * A server that sends the next prepared response to each request. The responses include faults that the service never
 * has.
 */
async function startPeer() {
  const responders: Responder[] = [];
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      const answer = responders.shift();
      if (answer === undefined) response.writeHead(418).end();
      else answer(response, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    requests,
    client: createClient({ baseUrl: `${url}/`, apiKey: 'sk_test_key' }),
    respondWith: (...next: Responder[]) => void responders.push(...next),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Responder =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const errorBody = <T extends object>(code: string, more?: T) => ({
  success: false,
  message: `It is ${code}.`,
  error_code: code,
  ...more,
});
const disconnectsInBody: Responder = (response, request) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"call_id"', () => request.socket.destroy());
};
const disconnects: Responder = (_response, request) => request.socket.destroy();
const call = (change: object) => `event: call\ndata: ${JSON.stringify({ ...CALL_EXAMPLE, ...change })}\n\n`;
const events =
  (...text: string[]): Responder =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text.join(''));

async function failureOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`No ApiError, but ${String(error)}`);
  return error;
}

describe('the API client', () => {
  let peer: Awaited<ReturnType<typeof startPeer>>;
  beforeEach(async () => {
    peer = await startPeer();
  });
  afterEach(() => peer.close());

  it('sends requests as the route table declares, with the key, and returns the response', async () => {
    peer.respondWith(json(200, CALL_EXAMPLE), json(200, { data: [] }), json(200, {}));
    const found = await peer.client.get('/calls/{call_id}', { params: { call_id: 'a/b' } });
    expect(found.call_id).toBe(CALL_EXAMPLE.call_id);
    await peer.client.get('/calls', { query: { status: 'FAILED', from: '2026-11-01' } });
    await peer.client.patch('/agents/{agent_id}', { params: { agent_id: 'x' }, body: { webhook_url: null } });
    expect(peer.requests.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['GET', '/calls/a%2Fb', ''],
      ['GET', '/calls?status=FAILED&from=2026-11-01', ''],
      ['PATCH', '/agents/x', '{"webhook_url":null}'],
    ]);
    for (const { headers } of peer.requests) expect(headers.authorization).toBe('Bearer sk_test_key');
  });

  it('has types that reject requests the route table does not declare', () => {
    const never = () => [
      // @ts-expect-error there is no such path
      peer.client.get('/nothing'),
      // @ts-expect-error the parameter is missing
      peer.client.get('/calls/{call_id}'),
      // @ts-expect-error no such status
      peer.client.get('/calls', { query: { status: 'LOST' } }),
      // @ts-expect-error the routes of the carrier do not accept an API key
      peer.client.post('/carrier/status'),
      // @ts-expect-error the name is missing
      peer.client.post('/api_keys', { body: {} }),
    ];
    expect(never).toBeInstanceOf(Function);
  });

  it.each(['', '.', '..'])('rejects the path parameter "%s", which would change the path', async (id) => {
    const error = await failureOf(peer.client.delete('/agents/{agent_id}', { params: { agent_id: id } }));
    expect([error.code, peer.requests.length]).toEqual(['MISSING_PARAMS', 0]);
  });

  it('throws an error with the code, fields, request id and body of the response', async () => {
    const body = errorBody('MISSING_PARAMS', { fields: { name: 'name is required.' } });
    peer.respondWith(json(400, body, { 'x-request-id': 'r1' }));
    const error = await failureOf(peer.client.get('/balance'));
    expect(error).toMatchObject({
      status: 400,
      code: 'MISSING_PARAMS',
      requestId: 'r1',
      fields: { name: 'name is required.' },
      body,
    });
  });

  it('retries a GET after a temporary error, at most twice', async () => {
    peer.respondWith(json(503, errorBody('SERVICE_UNAVAILABLE')), disconnects, json(200, { mode: 'test' }));
    expect(await peer.client.get('/balance')).toEqual({ mode: 'test' });
    peer.respondWith(...[1, 2, 3, 4].map(() => json(503, errorBody('SERVICE_UNAVAILABLE'))));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 503 });
    expect(peer.requests).toHaveLength(6);
  });

  it('retries a POST only if it has an Idempotency-Key', async () => {
    const body = { to_phone_number: '+12025550100', instruction: 'x' };
    peer.respondWith(json(503, errorBody('SERVICE_UNAVAILABLE')), disconnectsInBody, json(200, CALL_EXAMPLE));
    await peer.client.post('/calls', { body, idempotencyKey: 'k1' });
    expect(peer.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k1', 'k1', 'k1']);
    peer.respondWith(disconnects);
    expect(await failureOf(peer.client.post('/calls', { body }))).toMatchObject({ status: 0, code: 'UNREACHABLE' });
    expect(peer.requests).toHaveLength(4);
  });

  it('waits for Retry-After after a rate limit, but fails at once if that is too long', async () => {
    peer.respondWith(json(429, errorBody('RATE_LIMIT_EXCEEDED'), { 'retry-after': '1' }), json(200, { mode: 'test' }));
    const began = Date.now();
    await peer.client.get('/balance');
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    peer.respondWith(json(429, errorBody('RATE_LIMIT_EXCEEDED'), { 'retry-after': '60' }));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
  });

  it('times out a request without a response', async () => {
    peer.respondWith(() => undefined);
    const pending = peer.client.post('/calls/{call_id}/cancel', { params: { call_id: 'c' }, timeoutMs: 100 });
    expect(await failureOf(pending)).toMatchObject({ status: 0, code: 'TIMEOUT' });
  });

  it('does not follow a redirect, because the key is for this address alone', async () => {
    peer.respondWith((response) => response.writeHead(308, { location: 'https://elsewhere.example/balance' }).end());
    const error = await failureOf(peer.client.get('/balance'));
    expect(error.message).toContain('https://elsewhere.example/balance');
    expect(peer.requests).toHaveLength(1);
  });

  it('reports an HTML page in place of an API response', async () => {
    peer.respondWith((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ code: 'UNKNOWN' });
    peer.respondWith((response) => response.writeHead(404).end('<html>'));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 404, code: 'UNKNOWN' });
  });

  it('reads pages until the limit and no further', async () => {
    peer.respondWith(
      json(200, { data: [1, 2], has_more: true, next_cursor: 'c1' }),
      json(200, { data: [3], has_more: false }),
      json(200, { data: [1, 2], has_more: true, next_cursor: 'c1' }),
    );
    const read = async (most?: number) => {
      const sizes: number[] = [];
      for await (const { data } of peer.client.pages('/calls', { direction: 'inbound' }, most)) sizes.push(data.length);
      return sizes;
    };
    expect(await read()).toEqual([2, 1]);
    expect(await read(2)).toEqual([2]);
    expect(peer.requests.map(({ url }) => url)).toEqual([
      '/calls?direction=inbound&limit=100',
      '/calls?direction=inbound&cursor=c1&limit=100',
      '/calls?direction=inbound&limit=2',
    ]);
  });

  describe('watching a call', () => {
    const watch = async () => {
      const seen: string[] = [];
      for await (const { status } of watchCall(peer.client, 'call_1')) seen.push(status);
      return seen;
    };

    it('ends after the final status', async () => {
      peer.respondWith(events(call({ status: 'RINGING' }), ': keep-alive\n\n', call({ status: 'FAILED' })));
      expect(await watch()).toEqual(['RINGING', 'FAILED']);
    });

    it('reconnects with the last event id when the stream breaks', async () => {
      const disconnectsAfterEvent: Responder = (response, request) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`id: 7\n${call({ status: 'RINGING' })}event: call\ndata: {"call_`, () =>
          request.socket.destroy(),
        );
      };
      peer.respondWith(
        disconnectsAfterEvent,
        json(503, errorBody('SERVICE_UNAVAILABLE')),
        events(call({ status: 'COMPLETED' })),
      );
      expect(await watch()).toEqual(['RINGING', 'COMPLETED']);
      expect(peer.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', '7']);
    });

    it('reconnects when the stream ends before the call does', async () => {
      peer.respondWith(events(call({ status: 'RINGING' })), events(call({ status: 'CANCELLED' })));
      expect(await watch()).toEqual(['RINGING', 'CANCELLED']);
    });

    it('reconnects after a temporary end event and fails with the reason of a final one', async () => {
      const end = (code: string) =>
        `event: end\ndata: ${JSON.stringify({ success: false, message: 'No.', error_code: code })}\n\n`;
      peer.respondWith(
        events(call({ status: 'RINGING' }), end('SERVICE_UNAVAILABLE')),
        events(call({ status: 'IN_PROGRESS' }), end('UNAUTHORIZED')),
      );
      expect(await failureOf(watch())).toMatchObject({ status: 401, code: 'UNAUTHORIZED', message: 'No.' });
      expect(peer.requests).toHaveLength(2);
    });

    it('fails at once if the call does not exist', async () => {
      peer.respondWith(json(404, errorBody('CALL_NOT_FOUND')));
      expect(await failureOf(watch())).toMatchObject({ code: 'CALL_NOT_FOUND' });
      expect(peer.requests).toHaveLength(1);
    });
  });
});

describe('the wait before a retry', () => {
  const error = (status: number, code: string, retryAfterMs?: number) =>
    new ApiError(status, code, '', retryAfterMs === undefined ? {} : { retryAfterMs });

  it.each([
    ['a concurrency limit', error(429, 'CONCURRENCY_LIMIT_EXCEEDED')],
    ['a conflict', error(409, 'CONFLICT')],
    ['an internal error of the service', error(500, 'INTERNAL_ERROR')],
    ['an error that is no API error', new Error('x')],
  ])('is undefined, so that there is no retry, after %s', (_name, failure) => {
    expect(retryDelayAfter(failure, 1, true)).toBeUndefined();
  });

  it('grows with each attempt and is at least Retry-After', () => {
    const unavailable = error(503, 'SERVICE_UNAVAILABLE');
    expect(retryDelayAfter(unavailable, 1, true)).toBeLessThanOrEqual(450);
    expect(retryDelayAfter(unavailable, 2, true)).toBeGreaterThanOrEqual(600);
    expect(retryDelayAfter(error(503, 'SERVICE_UNAVAILABLE', 4_000), 1, true)).toBe(4_000);
    expect(retryDelayAfter(unavailable, 1, false)).toBeUndefined();
  });
});

it('an error response without an error object becomes an error with its status', () => {
  expect(createApiError(502, undefined)).toMatchObject({
    code: 'UNKNOWN',
    message: 'The service responded with status 502.',
  });
});

it('a query string has only parameters with a value', () => {
  expect(queryText({ a: 1, b: undefined, c: '', d: 'x&y' })).toBe('?a=1&d=x%26y');
  expect(queryText()).toBe('');
});
