import { startService, type Service } from '../support/http/harness.js';
import { sendBytes } from '../support/hostile-requests.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());

const FEATURES = ['camera', 'geolocation', 'microphone', 'payment', 'usb', 'display-capture'];

describe('responses forbid pages to use browser features', () => {
  it.each([
    ['GET', '/health/live', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/docs', 200],
    ['GET', '/docs/swagger-ui.css', 200],
    ['GET', '/docs/nothing.js', 404],
    ['GET', '/portal', 200],
    ['GET', '/balance', 401],
    ['POST', '/carrier/status', 403],
    ['POST', '/portal/log-in', 403],
    ['DELETE', '/health/live', 405],
    ['GET', '/nothing', 401],
  ])('%s %s', async (method, path, status) => {
    const response = await service.request(path, { method });
    expect(response.status).toBe(status);
    const policy = response.headers.get('permissions-policy') ?? '';
    // The portal's pages use the microphone for calls in the browser.
    const isPage = path === '/portal';
    for (const feature of FEATURES) {
      const allowed = isPage && feature === 'microphone' ? '(self)' : '()';
      expect(policy.split(', ')).toContain(`${feature}=${allowed}`);
    }
  });

  it.each([
    ['bytes that are not HTTP', 'noise\r\n\r\n', 400],
    ['no Host header', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'a'.repeat(9_000)}\r\n\r\n`, 431],
  ])('%s', async (_name, text, status) => {
    const response = await sendBytes(service.port, Buffer.from(text));
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(response).toMatch(/^Permissions-Policy: .*camera=\(\)/im);
    expect(response).toMatch(/^X-Content-Type-Options: nosniff\r$/im);
  });
});
