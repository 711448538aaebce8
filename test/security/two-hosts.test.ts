import { startService, type Service } from '../support/http/harness.js';
import { sendBytes } from '../support/hostile-requests.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());

const send = (lines: string[]) => sendBytes(service.port, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`));

describe('the host of a request', () => {
  it.each([
    ['two Host headers', ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test']],
    ['the same Host twice', ['GET /health/live HTTP/1.1', 'Host: a.test', 'host: a.test']],
    ['two Host headers, one of them empty', ['GET /health/live HTTP/1.1', 'Host: ', 'Host: b.test']],
    ['two Host headers in HTTP/1.0', ['GET /health/live HTTP/1.0', 'Host: a.test', 'Host: b.test']],
    [
      'two Host headers with an expectation',
      ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test', 'Expect: x'],
    ],
    ['two Host headers with an upgrade', ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test', 'Upgrade: h2c']],
    [
      'two Host headers for an absolute URL',
      ['GET http://a.test/health/live HTTP/1.1', 'Host: a.test', 'Host: b.test'],
    ],
  ])('%s', async (_name, lines) => {
    const response = await send([...lines, 'Connection: close']);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toContain('"error_code":"MISSING_PARAMS"');
    expect(response).toContain('Host header');
  });

  it.each([
    'http://evil.example/health/live',
    'http://a.test/health/live',
    'http://xn--/health',
    'http://[::1/x',
    'https://a.test:99999/',
    'evil.example/health/live',
    '*health',
  ])('is rejected if the request target names a host too: %s', async (target) => {
    const response = await send([`GET ${target} HTTP/1.1`, 'Host: a.test', 'Connection: close']);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    // Some of these requests are rejected by Node's HTTP parser, because it does not recognize them as HTTP.
    expect(response).toMatch(/The request target must be a path|The request is not valid HTTP/);
  });

  it.each(['//evil.example/health', '//[::1/x', '//xn--/', '/%', '/\\\\evil/', '/?%', '*'])(
    'is not confused with a path that looks like one: %s',
    async (target) => {
      const response = await send([`GET ${target} HTTP/1.1`, 'Host: a.test', 'Connection: close']);
      // The path / leads to the portal of the same host.
      expect(response).toMatch(/^HTTP\/1\.1 (4\d\d |200 |302 Found\r\n(?=[^]*\r\nLocation: \/portal\r\n))/);
    },
  );

  it('is required in HTTP/1.1, even with an expectation', async () => {
    for (const more of [[], ['Expect: x']]) {
      const response = await send(['GET /health/live HTTP/1.1', ...more, 'Connection: close']);
      expect(response).toMatch(/^HTTP\/1\.1 400 /);
    }
  });

  it('is not taken from a proxy header: links contain the configured address', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Host': 'evil.example', Forwarded: 'host=evil.example' };
    const { headers: answered, text } = await service.request('/openapi.json', { headers });
    expect(text).toContain(service.config.publicBaseUrl);
    expect(`${text}${JSON.stringify([...answered])}`).not.toContain('evil.example');
  });

  it('is accepted once, and may be missing in HTTP/1.0', async () => {
    expect(await send(['GET /health/live HTTP/1.1', 'Host: a.test', 'Connection: close'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send(['GET /health/live HTTP/1.0'])).toMatch(/^HTTP\/1\.1 200 /);
  });
});
