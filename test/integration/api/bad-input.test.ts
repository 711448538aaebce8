import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const TO = '+12025550100';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const valid = () => JSON.stringify({ to_phone_number: TO, agent_id: customer.agent._id });

function post(body: RequestInit['body'], headers: Record<string, string> = JSON_TYPE): Promise<ServiceResponse> {
  return service.request('/outbound_call', { method: 'POST', key: customer.liveKey, headers, body: body ?? null });
}

afterEach(async () => {
  // After any input, no dial was requested and the service still runs.
  expect(await service.countCallRequests()).toBe(0);
  expect((await service.request('/health/live')).status).toBe(200);
});

describe('POST /outbound_call', () => {
  it.each([
    ['text/plain', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['another JSON type', 'application/vnd.api+json'],
    ['a type that only begins like it', 'application/jsonp'],
    ['another charset', 'application/json; charset=utf-16'],
    ['nonsense', ';;;'],
  ])('rejects content type %s with 415 UNSUPPORTED_MEDIA_TYPE', async (_name, type) => {
    expectError(await post(valid(), { 'Content-Type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('rejects a missing content type with 415', async () => {
    expectError(await post(new Blob([valid()]), {}), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each([
    ['empty', ''],
    ['cut off', '{"to_phone_number":"+1202'],
    ['with a comment', '{"a":1 /* x */}'],
    ['two objects', '{}{}'],
    ['an array', '[]'],
    ['a string', '"x"'],
    ['null', 'null'],
    ['a number', '1e999'],
    ['a byte order mark only', '\ufeff'],
  ])('rejects JSON that is %s with 400 MISSING_PARAMS', async (_name, body) => {
    expectError(await post(body), 400, 'MISSING_PARAMS');
  });

  it('rejects bytes that are not UTF-8 with 400', async () => {
    expectError(await post(Buffer.from('7b2261223a22ff22 7d'.replace(' ', ''), 'hex')), 400, 'MISSING_PARAMS', /UTF-8/);
  });

  it.each([
    ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects in a field', `{"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['never closed', '['.repeat(100_000)],
    ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
  ])('rejects JSON that is nested too deeply (%s) with 400, within 5 seconds', async (_name, body) => {
    const since = Date.now();
    expectError(await post(body), 400, 'MISSING_PARAMS', /32/);
    expect(Date.now() - since).toBeLessThan(5_000);
  });

  it('accepts 32 levels, and does not count brackets inside strings', async () => {
    const nested = `${'['.repeat(31)}${']'.repeat(31)}`;
    expectError(await post(`{"a":${nested},"b":"${'['.repeat(99)}\\"{{"}`), 400, 'MISSING_PARAMS', /to_phone_number/);
  });

  it.each([
    ['__proto__', `{"__proto__":{"to_phone_number":"${TO}"},"instruction":"x"}`],
    ['constructor', `{"to_phone_number":"${TO}","instruction":"x","constructor":{"prototype":{}}}`],
    ['__proto__ further inside', `{"to_phone_number":"${TO}","instruction":"x","a":[{"b":{"__proto__":1}}]}`],
  ])('rejects the key %s with 400, and no object inherits from it', async (_name, body) => {
    expectError(await post(body), 400, 'MISSING_PARAMS');
    expect(({} as Record<string, unknown>)['to_phone_number']).toBeUndefined();
  });

  it('rejects a body over 256 KiB with 413 PAYLOAD_TOO_LARGE, with or without a Content-Length', async () => {
    const megabyte = JSON.stringify({ a: 'x'.repeat(1_024 * 1_024) });
    expectError(await post(megabyte), 413, 'PAYLOAD_TOO_LARGE');
    const parts = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 64; i++) controller.enqueue(Buffer.alloc(16_384, 32));
        controller.close();
      },
    });
    const init = { method: 'POST', key: customer.liveKey, headers: JSON_TYPE, body: parts, duplex: 'half' as const };
    expectError(await service.request('/outbound_call', init), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('rejects more than 256 fields or items with 400 before it validates them', async () => {
    const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 1]));
    expectError(await post(JSON.stringify(keys)), 400, 'MISSING_PARAMS', /at most 256 (fields|items)/);
    expectError(
      await post(`{"a":[${'1,'.repeat(100_000)}1]}`),
      400,
      'MISSING_PARAMS',
      /a: A list may have at most 256 items/,
    );
  });

  it('rejects gzip that inflates beyond the limit with 413, invalid gzip with 400, other encodings with 415', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1_024 * 1_024));
    const encoded = (encoding: string) => ({ ...JSON_TYPE, 'Content-Encoding': encoding });
    expectError(await post(bomb, encoded('gzip')), 413, 'PAYLOAD_TOO_LARGE');
    expectError(await post('not gzip', encoded('gzip')), 400, 'MISSING_PARAMS');
    expectError(await post(gzipSync('{}'), encoded('gzip')), 400, 'MISSING_PARAMS', /to_phone_number/);
    for (const encoding of ['gzip, gzip', 'zstd', 'constructor']) {
      expectError(await post(valid(), encoded(encoding)), 415, 'UNSUPPORTED_MEDIA_TYPE');
    }
  });

  it('rejects random bytes with a 400 error object', async () => {
    for (let i = 0; i < 30; i++) {
      const answer = await post(randomBytes(1 + ((i * 997) % 9_000)));
      expectError(answer, 400, 'MISSING_PARAMS');
    }
  });

  it('rejects values of a wrong type in every field with a 4xx error object', async () => {
    const fields = [
      'to_phone_number',
      'agent_id',
      'instruction',
      'webhook_url',
      'external_call_id',
      'input_parameters',
      'output_parameters',
      'call_id',
    ];
    for (const field of fields) {
      for (const value of [0, -0, 1e308, true, [], {}, [[]], { $gt: '' }, { toString: 1 }, ['+12025550100']]) {
        const body = { to_phone_number: TO, agent_id: customer.agent._id, [field]: value };
        const answer = await post(JSON.stringify(body));
        expect({ field, value, status: answer.status }).toEqual({
          field,
          value,
          status: field === 'call_id' ? 404 : 400,
        });
        expect(answer.json['success']).toBe(false);
      }
    }
  });
});

describe('other entry points', () => {
  it('reject malformed forms with 4xx error objects on /inbound_call and the carrier routes', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const bodies = [
      randomBytes(500),
      '%%%=&=&&',
      'CallSid=%FF%FE&From=%00&To=x',
      '__proto__=1&constructor=2',
      'a='.repeat(5_000),
    ];
    for (const body of bodies) {
      for (const path of ['/inbound_call', '/inbound_call?agent_id=a&agent_id=b', '/inbound_call?__proto__=1']) {
        const answer = await service.request(path, { method: 'POST', key: customer.liveKey, headers, body });
        expect(answer.status).toBe(400);
        expect(answer.json['success']).toBe(false);
      }
      const callback = await service.request('/carrier/status', { method: 'POST', headers, body });
      expectError(callback, 403, 'FORBIDDEN');
    }
    const large = { method: 'POST', key: customer.liveKey, headers, body: `CallSid=${'x'.repeat(70_000)}` };
    expectError(await service.request('/inbound_call', large), 413, 'PAYLOAD_TOO_LARGE');
    const repeated = 'CallSid=CA1&CallSid=CA2&From=a&To=b';
    const answer = await service.request('/inbound_call', {
      method: 'POST',
      key: customer.liveKey,
      headers,
      body: repeated,
    });
    expectError(answer, 400, 'MISSING_PARAMS', /CallSid/);
  });

  it('start no workflow that outlives a rejected request', async () => {
    const open = await eventually(async () => (await service.countWorkflows('ExecutionStatus = "Running"')) === 0);
    expect(open).toBe(true);
  });
});

describe('malformed HTTP', () => {
  /** Sends raw bytes and returns everything that the server sends until it closes the connection. */
  function raw(text: string): Promise<{ status: number; json: Record<string, unknown>; head: string }> {
    return new Promise((resolve, reject) => {
      const socket = connect(service.port, '127.0.0.1', () => socket.write(text, 'latin1'));
      let received = '';
      socket.setTimeout(30_000, () => socket.destroy(new Error('The server sent nothing for 30 s.')));
      socket.on('data', (chunk) => (received += chunk.toString()));
      socket.on('error', reject);
      socket.on('close', () => {
        const [head = '', body = ''] = received.split('\r\n\r\n');
        resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), json: JSON.parse(body), head });
      });
    });
  }
  const close = 'Connection: close\r\n';

  it.each([
    ['noise', '\x00\x01\x02\x03\r\n\r\n', 400],
    ['no Host', `GET /health/live HTTP/1.1\r\n${close}\r\n`, 400],
    [
      'length and chunks at once',
      `POST /outbound_call HTTP/1.1\r\nHost: x\r\n${close}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'two lengths',
      `POST /outbound_call HTTP/1.1\r\nHost: x\r\n${close}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
      400,
    ],
    ['a line feed inside a header', `GET /health/live HTTP/1.1\r\nHost: x\r\nX: a\nb\r\n${close}\r\n`, 400],
    ['9 kB of headers', `GET /health/live HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(9_000)}\r\n${close}\r\n`, 431],
    ['an absolute address', `GET http://evil.example/outbound_call HTTP/1.1\r\nHost: x\r\n${close}\r\n`, 400],
    [
      'an upgrade',
      `GET /outbound_call HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n\r\n`,
      401,
    ],
    ['an unknown expectation', `GET /outbound_call HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\n${close}\r\n`, 401],
    ['an asterisk as the target', `OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}\r\n`, 401],
  ])('gets an error object for %s', async (_name, text, status) => {
    const answer = await raw(text);
    expect({ status: answer.status, json: answer.json }).toEqual({
      status,
      json: {
        success: false,
        message: expect.any(String),
        error_code: expect.any(String),
        doc_url: expect.stringContaining('/docs/errors#'),
        request_id: /^x-request-id: (\S+)$/im.exec(answer.head)?.[1],
        ...(status === 400 ? { errors: [expect.objectContaining({ param: 'request', code: 'request_invalid' })] } : {}),
      },
    });
  });

  it('gets 408 for a body that never ends, and other requests are served meanwhile', async () => {
    const head = `POST /outbound_call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${customer.liveKey}\r\n`;
    const slow = raw(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a"`);
    expect((await service.request('/health/live')).status).toBe(200);
    expect((await slow).status).toBe(408);
  }, 60_000);
});

it('holds no money for rejected requests', async () => {
  const nothingHeld = await eventually(async () => {
    const accounts = await service.database.ledgerAccounts.find().lean();
    return accounts.length > 0 && accounts.every((account) => account.heldMicros === 0);
  });
  expect(nothingHeld).toBe(true);
});
