import { parseConfig } from '../../src/platform/config/config.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { startService, type Service } from '../support/http/harness.js';
import { rawRequest, sendBytes } from '../support/hostile-requests.js';

const responseTo = async (port: number, path: string, host: string) => {
  const bytes = rawRequest({ path, headers: { Host: host, Connection: 'close' } });
  return sendBytes(port, bytes, { forMs: 5_000 });
};

describe('a web site that points its own host name at a developer’s machine', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ worker: false, env: { NODE_ENV: 'development' } });
  });
  afterAll(() => service.close());

  it.each([
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'evil@localhost',
    'x',
    '0.0.0.0',
    '192.168.0.1',
    'stream.test.evil.example',
    '',
  ])('reaches nothing with the Host %j', async (host) => {
    const response = await responseTo(service.port, '/portal/sign-up-options', host);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toContain('"error_code":"MISSING_PARAMS"');
    expect(response).not.toContain('sign_up');
  });

  it.each([
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.8.8.8',
    '[::1]',
    '[::1]:8080',
    'calls.test',
    'stream.test:443',
  ])('does not affect the service’s own names: %s', async (host) => {
    expect(await responseTo(service.port, '/portal/sign-up-options', host)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('cannot control the simulated carrier', async () => {
    const config = parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0' });
    const simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
    const { port } = await simulator.listen();
    try {
      expect(await responseTo(port, '/simulator/calls', 'evil.example')).toMatch(/^HTTP\/1\.1 403 /);
      for (const host of [`127.0.0.1:${port}`, 'localhost'])
        expect(await responseTo(port, '/simulator/calls', host)).not.toMatch(/^HTTP\/1\.1 403 /);
    } finally {
      await simulator.close();
    }
  });

  it('reaches nothing in a container either, unless the operator allows it', () => {
    const compose = { API_HOST: '0.0.0.0', PUBLIC_BASE_URL: 'http://api:8080', STREAM_URL: 'ws://media:8081/stream' };
    expect(parseConfig(compose).api.hosts).toEqual(['api', 'media']);
    expect(parseConfig({ ...compose, ALLOW_INSECURE_DEVELOPMENT: 'true' }).api.hosts).toBeUndefined();
  });

  it('is not checked for services behind a proxy, which checks host names', () => {
    const hostsOf = (env: Record<string, string>) => parseConfig(env).api.hosts;
    expect(hostsOf({})).toEqual(['127.0.0.1', '127.0.0.1']);
    expect(hostsOf({ API_HOST: '::1' })).toBeDefined();
    expect(hostsOf({ API_HOST: '0.0.0.0', NODE_ENV: 'test' })).toBeUndefined();
    expect(hostsOf({ NODE_ENV: 'test' })).toBeUndefined();
  });
});
