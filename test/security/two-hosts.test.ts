import { startService, type Service } from '../support/http/harness.js';
import { sendBytes } from '../support/hostile-requests.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());

const send = (lines: string[]) => sendBytes(service.port, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`));

describe('a request that names two hosts is never answered as one of them', () => {
  it.each([
    ['two Host headers', ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test']],
    ['the same Host twice', ['GET /health/live HTTP/1.1', 'Host: a.test', 'host: a.test']],
    ['two of which one is empty', ['GET /health/live HTTP/1.1', 'Host: ', 'Host: b.test']],
    ['two in HTTP/1.0', ['GET /health/live HTTP/1.0', 'Host: a.test', 'Host: b.test']],
    ['two with an expectation', ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test', 'Expect: x']],
    ['two with an upgrade', ['GET /health/live HTTP/1.1', 'Host: a.test', 'Host: b.test', 'Upgrade: h2c']],
    ['two for an absolute address', ['GET http://a.test/health/live HTTP/1.1', 'Host: a.test', 'Host: b.test']],
  ])('%s', async (_name, lines) => {
    const answer = await send([...lines, 'Connection: close']);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"error_code":"MISSING_PARAMS"');
    expect(answer).toContain('Host header');
  });

  it.each([
    'http://evil.example/health/live',
    'http://a.test/health/live',
    'http://xn--/health',
    'http://[::1/x',
    'https://a.test:99999/',
    'evil.example/health/live',
    '*health',
  ])('nor one that names a host in its target besides: %s', async (target) => {
    const answer = await send([`GET ${target} HTTP/1.1`, 'Host: a.test', 'Connection: close']);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    // Some of them are no HTTP at all for the parser.
    expect(answer).toMatch(/The request target must be a path|This is not an HTTP request/);
  });

  it.each(['//evil.example/health', '//[::1/x', '//xn--/', '/%', '/\\\\evil/', '/?%', '*'])(
    'and a path that looks like a host costs no error: %s',
    async (target) => {
      const answer = await send([`GET ${target} HTTP/1.1`, 'Host: a.test', 'Connection: close']);
      expect(answer).toMatch(/^HTTP\/1\.1 (4\d\d|200) /);
    },
  );

  it('none is refused in HTTP/1.1, also with an expectation', async () => {
    for (const more of [[], ['Expect: x']]) {
      const answer = await send(['GET /health/live HTTP/1.1', ...more, 'Connection: close']);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    }
  });

  it('nor is another host taken from a header of proxies: links name the configured address', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Host': 'evil.example', Forwarded: 'host=evil.example' };
    const { headers: answered, text } = await service.request('/openapi.json', { headers });
    expect(text).toContain(service.config.publicBaseUrl);
    expect(`${text}${JSON.stringify([...answered])}`).not.toContain('evil.example');
  });

  it('and one is answered', async () => {
    expect(await send(['GET /health/live HTTP/1.1', 'Host: a.test', 'Connection: close'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send(['GET /health/live HTTP/1.0'])).toMatch(/^HTTP\/1\.1 200 /);
  });
});
