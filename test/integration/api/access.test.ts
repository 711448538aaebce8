import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { routes } from '../../../src/api/routes.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { PRODUCTION } from '../../support/production.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  // With these settings the OpenAPI document contains every operation; some exist only with a certain setting.
  service = await startService({
    minDeadlineMs: 0,
    worker: false,
    env: { PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' },
  });
  customer = await service.customer();
});
afterAll(() => service.close());

const STATUS_PATH = '/outbound_call?call_id=call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
const withAuthorization = (value: string) => service.request(STATUS_PATH, { headers: { Authorization: value } });

describe('the API key', () => {
  it('is accepted as Authorization: Bearer, in any case', async () => {
    expectError(await service.request(STATUS_PATH, { key: customer.liveKey }), 404, 'CALL_NOT_FOUND');
    expectError(await withAuthorization(`bearer ${customer.testKey}`), 404, 'CALL_NOT_FOUND');
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['without a scheme', 'sk_live_abc'],
    ['an empty Bearer', 'Bearer '],
    ['garbage', 'Bearer \u00ff\u00fe%00'],
    ['two words', 'Bearer sk_live_a sk_live_b'],
    ['of another scheme', 'Digest username="a"'],
    ['of the right form but unknown', `Bearer sk_live_${'a'.repeat(38)}`],
  ])('is rejected with 401 UNAUTHORIZED and a Bearer challenge: %s', async (_name, value) => {
    const answer = await service.request(STATUS_PATH, value === undefined ? {} : { headers: { Authorization: value } });
    expectError(answer, 401, 'UNAUTHORIZED');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
  });

  it('is rejected with 401 as the password of Basic authentication on /outbound_call', async () => {
    const basic = Buffer.from(`x:${customer.liveKey}`).toString('base64');
    expectError(await withAuthorization(`Basic ${basic}`), 401, 'UNAUTHORIZED');
  });

  it('is never accepted in the query', async () => {
    const answer = await service.request(`${STATUS_PATH}&api_key=${customer.liveKey}&access_token=${customer.liveKey}`);
    expectError(answer, 401, 'UNAUTHORIZED');
  });

  it('is rejected with 401 when a request has two Authorization headers', async () => {
    const raw = await rawRequest(
      `GET ${STATUS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${customer.liveKey}\r\nAuthorization: Bearer ${customer.liveKey}\r\nConnection: close\r\n\r\n`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('is rejected from the first request after it is revoked', async () => {
    const { secret, key } = await service.apiKeys.create({ accountId: customer.account._id, mode: 'live', name: 'r' });
    expectError(await service.request(STATUS_PATH, { key: secret }), 404, 'CALL_NOT_FOUND');
    await service.apiKeys.revoke(key.keyId);
    expectError(await service.request(STATUS_PATH, { key: secret }), 401, 'UNAUTHORIZED');
  });

  it('is rejected after it has expired', async () => {
    const expiresAt = new Date(Date.now() + 300);
    const { secret } = await service.apiKeys.create({
      accountId: customer.account._id,
      mode: 'live',
      name: 'e',
      expiresAt,
    });
    await sleep(400);
    expectError(await service.request(STATUS_PATH, { key: secret }), 401, 'UNAUTHORIZED');
  });

  it('is checked before any other part of the request', async () => {
    const answer = await service.request('/outbound_call', { method: 'POST', body: 'x'.repeat(300_000) });
    expectError(answer, 401, 'UNAUTHORIZED');
    expectError(await service.request('/nothing-here'), 401, 'UNAUTHORIZED');
    expectError(await service.request('/outbound_call', { method: 'DELETE' }), 401, 'UNAUTHORIZED');
  });
});

describe('the rate limit', () => {
  it('applies to each key: 429 RATE_LIMIT_EXCEEDED with Retry-After and the RateLimit fields', async () => {
    const busy = await service.customer();
    await service.accounts.setLimits(busy.account._id, { requestsPerMinute: 3 });
    for (const left of [2, 1, 0]) {
      const answer = await service.request(STATUS_PATH, { key: busy.liveKey });
      expectError(answer, 404, 'CALL_NOT_FOUND');
      expect(answer.headers.get('ratelimit-policy')).toBe('"default";q=3;w=60');
      expect(answer.headers.get('ratelimit')).toMatch(new RegExp(`^"default";r=${left};t=\\d+$`));
    }
    const rejected = await service.request(STATUS_PATH, { key: busy.liveKey });
    expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED');
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(rejected.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    // The limit counts each key of an account separately.
    expectError(await service.request(STATUS_PATH, { key: busy.testKey }), 404, 'CALL_NOT_FOUND');
  });

  it('is checked before the body and the path, and a request with a call_id counts too', async () => {
    const busy = await service.customer();
    await service.accounts.setLimits(busy.account._id, { requestsPerMinute: 0 });
    expectError(await service.place(busy.liveKey, { call_id: 'x' }), 429, 'RATE_LIMIT_EXCEEDED');
    expectError(await service.request('/nothing', { key: busy.liveKey }), 429, 'RATE_LIMIT_EXCEEDED');
  });

  it('comes from the plan in live mode and is 600 requests per minute in test mode', async () => {
    const live = await service.request(STATUS_PATH, { key: customer.liveKey });
    const test = await service.request(STATUS_PATH, { key: customer.testKey });
    expect(live.headers.get('ratelimit-policy')).toBe('"default";q=1200;w=60');
    expect(test.headers.get('ratelimit-policy')).toBe('"default";q=600;w=60');
  });
});

describe('paths and methods', () => {
  it('rejects an unknown path with 404 NOT_FOUND', async () => {
    expectError(await service.request('/outbound_calls', { key: customer.liveKey }), 404, 'NOT_FOUND');
    expectError(await service.request('/%E0%A4%A', { key: customer.liveKey }), 404, 'NOT_FOUND');
    expectError(await service.request('/OUTBOUND_CALL', { key: customer.liveKey }), 404, 'NOT_FOUND');
  });

  it.each([
    ['PUT', '/outbound_call', 'GET, POST'],
    ['PATCH', '/outbound_call', 'GET, POST'],
    ['GET', '/inbound_call', 'POST'],
    ['POST', '/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/recording', 'GET'],
    ['GET', '/carrier/status', 'POST'],
    ['PUT', '/portal/log-in', 'POST'],
    ['POST', '/portal/members', 'GET'],
  ])('rejects %s %s with 405 METHOD_NOT_ALLOWED and Allow: %s', async (method, path, allow) => {
    const answer = await service.request(path, { method, key: customer.liveKey });
    expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it('sends the Allow header without a key on a public path', async () => {
    const answer = await service.request('/health/live', { method: 'POST' });
    expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('the OpenAPI document', () => {
  it('lists only operations that the router serves', async () => {
    const { json } = await service.request('/openapi.json');
    const paths = json['paths'] as Record<string, Record<string, unknown>>;
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        const concrete = path.replace('{file}', 'start.js').replaceAll(/\{\w+\}/g, 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN');
        const answer = await service.request(concrete, { method: method.toUpperCase(), key: customer.testKey });
        expect([405, 500, 503]).not.toContain(answer.status);
        // A missing resource must have its own message. The generic message is only for unknown paths.
        expect(answer.json['message']).not.toBe('There is no such endpoint or object.');
      }
    }
  });
});

describe('without Authorization', () => {
  it('serves the health checks', async () => {
    expect((await service.request('/health/live')).json).toEqual({ status: 'live' });
    expect((await service.request('/health/ready')).json).toEqual({ status: 'ready', mongodb: 'ok', temporal: 'ok' });
  });

  it('serves /openapi.json with version 1.0.0', async () => {
    const answer = await service.request('/openapi.json');
    expect(answer.json).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
  });

  it('serves /docs with assets from our own origin only, under a strict content security policy', async () => {
    const page = await service.request('/docs');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
    const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(parts.length).toBeGreaterThanOrEqual(4);
    expect(page.text).not.toMatch(/<script>|style="/);
    for (const path of parts) {
      expect(path).toMatch(/^\/(docs\/|openapi\.json$)/);
      const part = await service.request(path);
      expect(part.status).toBe(200);
      if (path === '/openapi.json') continue;
      const { success } = routes.readDocsFile;
      const contentTypes = [success.contentType, ...Object.keys(success.alternatives)];
      expect(contentTypes).toContain(part.headers.get('content-type')?.split(';')[0]);
    }
  });

  it('serves no other file below /docs', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'constructor', 'swagger-ui.css%00']) {
      expectError(await service.request(`/docs/${name}`), 404, 'NOT_FOUND');
    }
  });
});

describe('every response', () => {
  it('has an X-Request-Id: that of the request if it is valid, otherwise a new one', async () => {
    const given = await service.request('/health/live', { headers: { 'X-Request-Id': 'trace-4711' } });
    expect(given.headers.get('x-request-id')).toBe('trace-4711');
    const strange = await service.request('/health/live', { headers: { 'X-Request-Id': 'a b"c' } });
    expect(strange.headers.get('x-request-id')).toMatch(/^req_\w+$/);
  });

  it('does not name the server software and cannot be framed or sniffed', async () => {
    const answer = await service.request('/outbound_call', { key: customer.liveKey });
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect(answer.headers.get('server')).toBeNull();
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});

describe('the recording of a call', () => {
  const callId = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
  const path = `/calls/${callId}/recording`;

  beforeAll(async () => {
    const now = new Date();
    await service.database.calls.create({
      _id: callId,
      sequence: 1,
      accountId: customer.account._id,
      mode: 'live',
      direction: 'outbound',
      status: 'COMPLETED',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: '+12025550100',
      agentId: customer.agent._id,
      inputParameters: '{}',
      externalCallId: '',
      createdAt: now,
      updatedAt: now,
    });
  });

  it('is 404 when the call was not recorded', async () => {
    expectError(await service.request(path, { key: customer.liveKey }), 404, 'NOT_FOUND');
  });

  it('is a WAV file for keys of the account and mode, and 404 CALL_NOT_FOUND for other keys', async () => {
    const recording = createRecordings(service.database).open(
      { callId, stream: 0, offsetMs: 0 },
      Promise.resolve(true),
    );
    recording.write(Buffer.alloc(16_000, 1));
    await recording.close();
    const response = await fetch(`${service.baseUrl}${path}`, {
      headers: { Authorization: `Bearer ${customer.liveKey}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get('content-type')).toBe('audio/wav');
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(bytes.subarray(0, 4).toString()).toBe('RIFF');
    expect(bytes.length).toBe(32_044);
    const other = await service.customer();
    for (const key of [other.liveKey, customer.testKey]) {
      expectError(await service.request(path, { key }), 404, 'CALL_NOT_FOUND');
    }
    expectError(await service.request(path), 401, 'UNAUTHORIZED');
  });
});

describe('in production', () => {
  let production: Service;
  let owner: Customer;

  beforeAll(async () => {
    production = await startService({
      worker: false,
      env: { ...PRODUCTION, TRUST_PROXY: 'true' },
    });
    owner = await production.customer();
  });
  afterAll(() => production.close());

  it('rejects a request without TLS with 403 HTTPS_REQUIRED before it checks the key', async () => {
    expectError(await production.request(STATUS_PATH), 403, 'HTTPS_REQUIRED');
    expectError(await production.request(STATUS_PATH, { key: owner.liveKey }), 403, 'HTTPS_REQUIRED');
    expectError(await production.request('/inbound_call', { method: 'POST' }), 403, 'HTTPS_REQUIRED');
    expectError(await production.request('/nothing'), 403, 'HTTPS_REQUIRED');
  });

  it('trusts the last value of X-Forwarded-Proto behind a trusted proxy', async () => {
    const by = (proto: string) =>
      production.request(STATUS_PATH, { key: owner.liveKey, headers: { 'X-Forwarded-Proto': proto } });
    expectError(await by('https'), 404, 'CALL_NOT_FOUND');
    expectError(await by('https, http'), 403, 'HTTPS_REQUIRED');
    expect((await by('https')).headers.get('strict-transport-security')).toMatch(/max-age=\d+/);
  });

  it('serves the health checks and the documentation over plain HTTP inside the network', async () => {
    expect((await production.request('/health/live')).status).toBe(200);
    expect((await production.request('/openapi.json')).status).toBe(200);
  });

  it('ignores X-Forwarded-Proto without a trusted proxy', async () => {
    const alone = await startService({
      worker: false,
      env: PRODUCTION,
    });
    try {
      const answer = await alone.request(STATUS_PATH, { headers: { 'X-Forwarded-Proto': 'https' } });
      expectError(answer, 403, 'HTTPS_REQUIRED');
    } finally {
      await alone.close();
    }
  });

  it('rejects a webhook_url with a private address with 400 before anything is dialed', async () => {
    const answer = await production.request('/outbound_call', {
      method: 'POST',
      key: owner.liveKey,
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-Proto': 'https' },
      body: JSON.stringify({
        to_phone_number: '+12025550100',
        agent_id: owner.agent._id,
        webhook_url: 'http://169.254.169.254/latest',
      }),
    });
    expectError(answer, 400, 'MISSING_PARAMS', /webhook_url/);
    expect(await production.countCallRequests()).toBe(0);
  });
});

describe('while a dependency is unavailable', () => {
  /** A server that accepts connections and never responds, like a machine that hangs. */
  const silent = createServer();
  let port: number;

  beforeAll(async () => {
    silent.on('connection', (socket) => socket.pause());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    port = (silent.address() as { port: number }).port;
  });
  afterAll(() => {
    silent.closeAllConnections();
    silent.close();
  });

  it.each([
    ['rejects connections', () => '127.0.0.1:9'],
    ['accepts connections and never responds', () => `127.0.0.1:${port}`],
  ])('responds with 503 and Retry-After within seconds when Temporal %s', async (_name, address) => {
    const degraded = await startService({ minDeadlineMs: 0, worker: false, env: { TEMPORAL_ADDRESS: address() } });
    try {
      const owner = await degraded.customer();
      const since = Date.now();
      const answer = await degraded.place(owner.liveKey, { to_phone_number: '+12025550100', instruction: 'Hello.' });
      expectError(answer, 503, 'SERVICE_UNAVAILABLE');
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(Date.now() - since).toBeLessThan(10_000);
      const ready = await degraded.request('/health/ready');
      expectError(ready, 503, 'SERVICE_UNAVAILABLE');
      expect(ready.json).toMatchObject({ mongodb: 'ok', temporal: 'away', message: 'No response from Temporal.' });
      expect((await degraded.request('/health/live')).status).toBe(200);
    } finally {
      // Waits because Temporal's client may be about to try again and would throw if its channel closed now.
      await sleep(3_000);
      await degraded.close();
    }
  });

  it('responds with 503 and creates no call when there is no worker', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: '+12025550100', instruction: 'Hello.' });
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    expect(await service.database.calls.countDocuments({ toPhoneNumber: '+12025550100', status: 'RINGING' })).toBe(0);
  });

  it('responds with 503 without a message of the driver when MongoDB is down', async () => {
    const degraded = await startService({ minDeadlineMs: 0, worker: false });
    const owner = await degraded.customer();
    await degraded.database.close();
    const answer = await degraded.place(owner.liveKey, { to_phone_number: '+12025550100', instruction: 'Hello.' });
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    expect(answer.text).not.toMatch(/mongo|topology|connection/i);
    expectError(await degraded.request('/health/ready'), 503, 'SERVICE_UNAVAILABLE');
    await degraded.close({ databaseIsClosed: true });
  });
});

async function rawRequest(text: string): Promise<string> {
  const { connect } = await import('node:net');
  return new Promise((resolve, reject) => {
    const socket = connect(service.port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.on('end', () => resolve(received));
    socket.on('error', reject);
  });
}
