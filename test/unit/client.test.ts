import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, queryText, refusalOf } from '../../src/sdk/api-error.js';
import { createClient } from '../../src/sdk/client.js';
import { waitBefore } from '../../src/sdk/transport.js';
import { watchCall } from '../../src/sdk/watch-call.js';
import { CALL_EXAMPLE } from '../../src/calls/views/schemas.js';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers one request after the other as it is told: faults that the service itself cannot be made to have. */
async function startPeer() {
  const answers: Answer[] = [];
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      const answer = answers.shift();
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
    will: (...next: Answer[]) => void answers.push(...next),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refusal = <T extends object>(code: string, more?: T) => ({
  success: false,
  message: `It is ${code}.`,
  error_code: code,
  ...more,
});
const breaksOffInside: Answer = (response, request) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"call_id"', () => request.socket.destroy());
};
const breaksOff: Answer = (_response, request) => request.socket.destroy();
const call = (change: object) => `event: call\ndata: ${JSON.stringify({ ...CALL_EXAMPLE, ...change })}\n\n`;
const events =
  (...text: string[]): Answer =>
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

describe('the client', () => {
  let peer: Awaited<ReturnType<typeof startPeer>>;
  beforeEach(async () => {
    peer = await startPeer();
  });
  afterEach(() => peer.close());

  it('asks what the route table declares, with the key, and gives the answer', async () => {
    peer.will(json(200, CALL_EXAMPLE), json(200, { data: [] }), json(200, {}));
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

  it('does not compile for what the table does not declare', () => {
    const never = () => [
      // @ts-expect-error there is no such path
      peer.client.get('/nothing'),
      // @ts-expect-error the parameter is missing
      peer.client.get('/calls/{call_id}'),
      // @ts-expect-error no such status
      peer.client.get('/calls', { query: { status: 'LOST' } }),
      // @ts-expect-error a carrier's path takes no key
      peer.client.post('/carrier/status'),
      // @ts-expect-error a name is needed
      peer.client.post('/api_keys', { body: {} }),
    ];
    expect(never).toBeInstanceOf(Function);
  });

  it.each(['', '.', '..'])('refuses the parameter "%s": the path would be another one', async (id) => {
    const error = await failureOf(peer.client.delete('/agents/{agent_id}', { params: { agent_id: id } }));
    expect([error.code, peer.requests.length]).toEqual(['MISSING_PARAMS', 0]);
  });

  it('tells a refusal with its code, fields, request id and body', async () => {
    const body = refusal('MISSING_PARAMS', { fields: { name: 'name is required.' } });
    peer.will(json(400, body, { 'x-request-id': 'r1' }));
    const error = await failureOf(peer.client.get('/balance'));
    expect(error).toMatchObject({
      status: 400,
      code: 'MISSING_PARAMS',
      requestId: 'r1',
      fields: { name: 'name is required.' },
      body,
    });
  });

  it('repeats a GET that was refused for the moment, at most twice', async () => {
    peer.will(json(503, refusal('SERVICE_UNAVAILABLE')), breaksOff, json(200, { mode: 'test' }));
    expect(await peer.client.get('/balance')).toEqual({ mode: 'test' });
    peer.will(...[1, 2, 3, 4].map(() => json(503, refusal('SERVICE_UNAVAILABLE'))));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 503 });
    expect(peer.requests).toHaveLength(6);
  });

  it('repeats a POST only under the same Idempotency-Key', async () => {
    const body = { to_phone_number: '+12025550100', instruction: 'x' };
    peer.will(json(503, refusal('SERVICE_UNAVAILABLE')), breaksOffInside, json(200, CALL_EXAMPLE));
    await peer.client.post('/calls', { body, idempotencyKey: 'k1' });
    expect(peer.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k1', 'k1', 'k1']);
    peer.will(breaksOff);
    expect(await failureOf(peer.client.post('/calls', { body }))).toMatchObject({ status: 0, code: 'UNREACHABLE' });
    expect(peer.requests).toHaveLength(4);
  });

  it('waits as long as it is told when it asked too often, and does not wait for what takes longer', async () => {
    peer.will(json(429, refusal('RATE_LIMIT_EXCEEDED'), { 'retry-after': '1' }), json(200, { mode: 'test' }));
    const began = Date.now();
    await peer.client.get('/balance');
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    peer.will(json(429, refusal('RATE_LIMIT_EXCEEDED'), { 'retry-after': '60' }));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
  });

  it('ends a request that gets no answer in time', async () => {
    peer.will(() => undefined);
    const asked = peer.client.post('/calls/{call_id}/cancel', { params: { call_id: 'c' }, timeoutMs: 100 });
    expect(await failureOf(asked)).toMatchObject({ status: 0, code: 'TIMEOUT' });
  });

  it('follows no redirect: the key is for this address alone', async () => {
    peer.will((response) => response.writeHead(308, { location: 'https://elsewhere.example/balance' }).end());
    const error = await failureOf(peer.client.get('/balance'));
    expect(error.message).toContain('https://elsewhere.example/balance');
    expect(peer.requests).toHaveLength(1);
  });

  it('says so when a page answers instead of the service', async () => {
    peer.will((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ code: 'UNKNOWN' });
    peer.will((response) => response.writeHead(404).end('<html>'));
    expect(await failureOf(peer.client.get('/balance'))).toMatchObject({ status: 404, code: 'UNKNOWN' });
  });

  it('reads as many pages as it needs, and no entry more', async () => {
    peer.will(
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

    it('ends after the final state', async () => {
      peer.will(events(call({ status: 'RINGING' }), ': still here\n\n', call({ status: 'FAILED' })));
      expect(await watch()).toEqual(['RINGING', 'FAILED']);
    });

    it('connects again when the stream breaks, with the last id that was told', async () => {
      const begins: Answer = (response, request) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`id: 7\n${call({ status: 'RINGING' })}event: call\ndata: {"call_`, () =>
          request.socket.destroy(),
        );
      };
      peer.will(begins, json(503, refusal('SERVICE_UNAVAILABLE')), events(call({ status: 'COMPLETED' })));
      expect(await watch()).toEqual(['RINGING', 'COMPLETED']);
      expect(peer.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', '7']);
    });

    it('asks again when the stream ends before the call does', async () => {
      peer.will(events(call({ status: 'RINGING' })), events(call({ status: 'CANCELLED' })));
      expect(await watch()).toEqual(['RINGING', 'CANCELLED']);
    });

    it('ends with the reason when the service lets it watch no longer, and asks again when that passes', async () => {
      const end = (code: string) =>
        `event: end\ndata: ${JSON.stringify({ success: false, message: 'No.', error_code: code })}\n\n`;
      peer.will(
        events(call({ status: 'RINGING' }), end('SERVICE_UNAVAILABLE')),
        events(call({ status: 'IN_PROGRESS' }), end('UNAUTHORIZED')),
      );
      expect(await failureOf(watch())).toMatchObject({ status: 401, code: 'UNAUTHORIZED', message: 'No.' });
      expect(peer.requests).toHaveLength(2);
    });

    it('gives up at once on a call that is not there', async () => {
      peer.will(json(404, refusal('CALL_NOT_FOUND')));
      expect(await failureOf(watch())).toMatchObject({ code: 'CALL_NOT_FOUND' });
      expect(peer.requests).toHaveLength(1);
    });
  });
});

describe('when to ask again', () => {
  const error = (status: number, code: string, retryAfterMs?: number) =>
    new ApiError(status, code, '', retryAfterMs === undefined ? {} : { retryAfterMs });

  it.each([
    ['a place that is taken', error(429, 'CONCURRENCY_LIMIT_EXCEEDED')],
    ['a conflict', error(409, 'CONFLICT')],
    ['a fault of the service', error(500, 'INTERNAL_ERROR')],
    ['what is no answer of the service at all', new Error('x')],
  ])('never for %s', (_name, failure) => {
    expect(waitBefore(failure, 1, true)).toBeUndefined();
  });

  it('later each time, and never sooner than it is told', () => {
    const away = error(503, 'SERVICE_UNAVAILABLE');
    expect(waitBefore(away, 1, true)).toBeLessThanOrEqual(450);
    expect(waitBefore(away, 2, true)).toBeGreaterThanOrEqual(600);
    expect(waitBefore(error(503, 'SERVICE_UNAVAILABLE', 4_000), 1, true)).toBe(4_000);
    expect(waitBefore(away, 1, false)).toBeUndefined();
  });
});

it('a refusal without the error object is told by its status', () => {
  expect(refusalOf(502, undefined)).toMatchObject({
    code: 'UNKNOWN',
    message: 'The service answered with status 502.',
  });
});

it('a query has what is given and nothing else', () => {
  expect(queryText({ a: 1, b: undefined, c: '', d: 'x&y' })).toBe('?a=1&d=x%26y');
  expect(queryText()).toBe('');
});
