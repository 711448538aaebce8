import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { parseConfig } from '../../src/platform/config/config.js';
import { environment } from '../../src/platform/config/environment.js';
import { SECRETS } from '../../src/platform/config/secret-variables.js';
import { STREAM_TIMINGS } from '../../src/voice/media/carrier-stream.js';
import { likeASecret, PRODUCTION } from '../support/production.js';

const ROOT = join(__dirname, '..', '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

// This package is installed as a dependency of jest. It has no type declarations.
const { safeLoad } = jest.requireActual<{ safeLoad: (text: string) => unknown }>('js-yaml');

const service = z.object({
  image: z.string(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  container_name: z.string().optional(),
  profiles: z.array(z.string()).optional(),
  logging: z.unknown(),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.object({ condition: z.string() }))]).default([]),
});
const compose = z.object({ services: z.record(z.string(), service) }).parse(safeLoad(read('docker-compose.yml')));
const { services } = compose;

const ROLES = ['api', 'worker', 'media', 'simulator', 'exporter', 'codec'];
const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('callwright:'));

/** The names of all variables in the environment schema, and of those with the files of secrets that have no default here. */
const SETTINGS = new Set([
  ...Object.keys(environment.shape),
  ...SECRETS.filter(({ variable }) => environment.shape[variable].meta()?.['compose'] === undefined).map(
    ({ variable }) => `${variable}_FILE`,
  ),
]);

/** Returns a value after Compose has replaced its variables with those of an environment file. */
function filledIn(value: string | number, env: Record<string, string>): string {
  return String(value).replace(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_all, name: string, kind?: string, text?: string) => {
      const given = env[name];
      if (given) return given;
      if (kind === '?') throw new Error(`${name} is not given`);
      return text ?? '';
    },
  );
}

function environmentFile(text: string): Record<string, string> {
  const lines = text.split('\n').flatMap((line) => /^([A-Z0-9_]+)=([^#\n]*)/.exec(line) ?? []);
  const env: Record<string, string> = {};
  for (let i = 0; i < lines.length; i += 3) env[lines[i + 1] ?? ''] = (lines[i + 2] ?? '').trim();
  return env;
}

describe('docker-compose.yml', () => {
  it('starts every role after the servers are set up', () => {
    for (const role of ROLES) {
      expect(services[role]).toMatchObject({
        command: [role],
        depends_on: { setup: { condition: 'service_completed_successfully' } },
      });
    }
    expect(services['setup']?.depends_on).toEqual({
      mongodb: { condition: 'service_healthy' },
      temporal: { condition: 'service_healthy' },
    });
  });

  it('gives our roles every setting of the environment schema, and no other', () => {
    expect(SETTINGS.size).toBeGreaterThan(30);
    for (const [, each] of ours) expect(new Set(Object.keys(each.environment))).toEqual(SETTINGS);
  });

  it('mounts rate decks for every role at the path in .env.example', () => {
    const mount = './deploy/rates:/etc/callwright/rates:ro';
    for (const [, { volumes }] of ours) expect(volumes).toEqual([mount]);
    expect(read('.env.example')).toContain('# RATE_DECK_FILE=/etc/callwright/rates/');
  });

  it('pins every image to a full version', () => {
    for (const { image } of Object.values(services)) expect(image).toMatch(/^[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$/);
    expect(read('Dockerfile')).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-[\w-]+$/m);
  });

  it('tags our image with the version of the package', () => {
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')));
    for (const [, { image }] of ours) expect(image).toBe(`callwright:${version}`);
  });

  it.each(['api', 'worker', 'media'])('allows several of %s: they have no container name and no host port', (role) => {
    expect(services[role]).toMatchObject({ ports: [] });
    expect(services[role]?.container_name).toBeUndefined();
  });

  it('publishes API and media server on this machine through a proxy that finds all their processes', () => {
    expect(services['gateway']?.ports.map((port) => port.split(':').at(-1))).toEqual(['8080', '8081']);
    const caddyfile = read('deploy/Caddyfile.loopback');
    const sites = [...caddyfile.matchAll(/^:(\d+) \{[^]*?^\}/gm)].map(([site, port]) => ({
      port,
      processes: [...site.matchAll(/import processes (.*)/g)].map(([, role]) => role),
      connections: [...site.matchAll(/import kept|keepalive .*/g)].map(([kind]) => kind),
    }));
    const media = 'media 8081';
    expect(sites).toEqual([
      { port: '8080', processes: ['api 8080', 'api 8080'], connections: ['keepalive off', 'import kept'] },
      { port: '8081', processes: [media, media, media], connections: ['import kept', 'import kept', 'import kept'] },
    ]);
    // The default of TRUST_PROXY is false. Then the API closes idle connections after 5 s.
    expect(caddyfile).toMatch(/\(kept\) \{\s+transport http \{\s+keepalive 4s\s/);
    for (const text of [caddyfile, read('deploy/Caddyfile')]) {
      expect(text).toMatch(/\(processes\) \{\n[^]*?dynamic a \{args\[0\]\} \{args\[1\]\} \{/);
    }
    expect(services['gateway']?.image).toBe(services['proxy']?.image);
  });

  // A malformed body from any client is a failure of the process for Caddy: with fail_duration it waits 5 s for the only one.
  it.each(['deploy/Caddyfile', 'deploy/Caddyfile.loopback'])(
    'never takes a process out of service by itself: %s',
    (path) => {
      const text = read(path);
      expect(text).toMatch(/lb_try_duration 5s|import processes api 8080 least_conn 5s/);
      expect(text).not.toMatch(/fail_duration|unhealthy_/);
    },
  );

  // With the pinned Caddy and two processes that end at such a request, after others on warm connections: 20 of 20 requests reached
  // a second process, 16 with lb_retry_match alone, none with both.
  it.each(['deploy/Caddyfile', 'deploy/Caddyfile.loopback'])(
    'repeats no GET /outbound_call, which has no idempotency key: %s',
    (path) => {
      const text = read(path);
      expect(text).toMatch(/lb_retry_match \{\s+method GET\s+not path \/outbound_call\*\s+\}/);
      expect(text).toMatch(
        /@places \{\s+method GET\s+path \/outbound_call\*\s+\}\s+handle @places \{[^}]+keepalive off/,
      );
    },
  );

  // With the pinned Caddy and two media processes, one of them with 503: 60 of 60 streams began, and 25 without this.
  it.each([
    ['deploy/Caddyfile', 'import streams least_conn 1s'],
    ['deploy/Caddyfile.loopback', 'import processes media 8081'],
  ])('gives a stream that a media process rejects two more tries: %s', (path, upstreams) => {
    const [, streams = ''] = read(path).split(/handle \/stream\/\*|:8081 \{|handle_errors/);
    expect(streams.match(/handle_response @rejected/g)).toHaveLength(2);
    expect(streams.split(upstreams)).toHaveLength(4);
  });

  it('ends a stream whose media process hangs or is cut off, and no other one', () => {
    const [, seconds] =
      /\(streams\) \{\n[^]*?transport http \{[^}]*read_timeout (\d+)s/.exec(read('deploy/Caddyfile')) ?? [];
    // A media process sends a ping at this interval at least.
    const { pingEveryMs } = STREAM_TIMINGS;
    expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(2 * pingEveryMs);
    expect(Number(seconds) * 1_000).toBeLessThanOrEqual(3 * pingEveryMs);
  });

  // With the pinned Caddy and two media processes, one of them stopped by SIGSTOP: 8 of 8 streams began within 4.4 s, also after
  // its streams were broken. Without the second policy 1 of 4 began, because the stopped process had the fewest streams.
  it('gives a stream that a hanging media process does not begin to the next one', () => {
    const text = read('deploy/Caddyfile');
    const [, seconds] = /response_header_timeout (\d+)s/.exec(text) ?? [];
    const [, within] = /import streams least_conn (\d+)s/.exec(text) ?? [];
    const [, errors = ''] = text.split('handle_errors 502 503 504 {');
    // Otherwise the policy that chooses the process again has another try.
    expect(Number(within)).toBeLessThan(Number(seconds));
    expect(errors).toMatch(/path \/stream\/\*\n\s+reverse_proxy @stream \{\n\s+import streams round_robin 5s/);
  });

  it('bounds the logs of every container', () => {
    for (const { logging } of Object.values(services)) {
      expect(logging).toEqual({ driver: 'local', options: { 'max-size': '50m', 'max-file': '5' } });
    }
  });

  it('fixes the ports that Prometheus asks', () => {
    const asked = read('deploy/prometheus/prometheus.yml').matchAll(/port: (94\d\d)/g);
    expect([...asked].map(([, port]) => port)).toEqual(['9465', '9464']);
    for (const [, { environment }] of ours) {
      expect(environment).toMatchObject({ METRICS_PORT: 9465, WORKER_METRICS_ADDRESS: '0.0.0.0:9464' });
    }
  });

  it('publishes no port beyond this machine except that of the TLS proxy', () => {
    const open = Object.entries(services).filter(([, { ports }]) =>
      ports.some((port) => !port.startsWith('127.0.0.1:')),
    );
    expect(open.map(([name]) => name)).toEqual(['proxy']);
    expect(services['proxy']?.profiles).toEqual(['tls']);
    // In a network without IPv6, the service sees all IPv6 clients with one address, which Docker assigns. They would
    // share a rate limit.
    for (const port of services['proxy']?.ports ?? []) expect(port).toMatch(/^0\.0\.0\.0:/);
    for (const name of ['mongodb', 'postgresql', 'temporal', 'simulator']) expect(services[name]?.ports).toEqual([]);
  });

  it('passes the client’s address to the service through trusted proxies', () => {
    const caddyfile = read('deploy/Caddyfile');
    expect(caddyfile).toMatch(/trusted_proxies static \{\$TRUSTED_PROXIES:[\d./]+\}\n\s+trusted_proxies_strict/);
    // One for streams, one for requests that must not be sent twice, one for all else.
    expect(caddyfile.match(/import processes /g)).toHaveLength(3);
    expect(caddyfile.match(/header_up X-Forwarded-For \{client_ip\}/g)).toHaveLength(3);
    // An API closes idle connections after 75 s. A request must not meet a connection that is being closed.
    expect(caddyfile.match(/keepalive 60s/g)).toHaveLength(2);
    expect(services['proxy']?.environment).toHaveProperty('TRUSTED_PROXIES');
  });

  it('does not publish a development configuration', () => {
    const script = services['proxy']?.entrypoint?.at(-1)?.replaceAll('$$', '$') ?? '';
    const guard = script.replace(/exec caddy .*/s, 'echo published');
    expect(guard).not.toBe(script);
    const published = (env: Record<string, string>) =>
      spawnSync('sh', ['-c', guard], { env: { PATH: process.env.PATH ?? '', ...env } }).stdout.toString();
    expect(published({ NODE_ENV: 'development', ALLOW_INSECURE_DEVELOPMENT: '' })).toBe('');
    expect(published({ NODE_ENV: 'production', ALLOW_INSECURE_DEVELOPMENT: '' })).toBe('published\n');
    expect(published({ NODE_ENV: 'development', ALLOW_INSECURE_DEVELOPMENT: 'true' })).toBe('published\n');
    expect(services['proxy']?.environment).toMatchObject({ NODE_ENV: '${NODE_ENV:-development}' });
  });

  it('starts with .env.example unchanged', () => {
    const env = environmentFile(read('.env.example'));
    for (const { environment } of Object.values(services)) {
      for (const value of Object.values(environment)) expect(() => filledIn(value, env)).not.toThrow();
    }
    const config = parseConfig(filledEnvironment(env));
    expect(config).toMatchObject({ production: false, publicBaseUrl: 'http://api:8080' });
    expect(config.mongodbUri).toContain('replicaSet=rs0');
  });

  it('starts in production with the lines of .env.example filled in, and reports a missing value', () => {
    const template = environmentFile(read('.env.example').replace(/^# (?=[A-Z0-9_]+=)/gm, ''));
    // This path is valid in the container. The operator provides the file that is mounted there.
    expect(template['RATE_DECK_FILE']).toMatch(/^\/etc\/callwright\/rates\//);
    const mounted = { ...template, RATE_DECK_FILE: join(ROOT, 'deploy/rates/example.csv') };
    expect(() => parseConfig(filledEnvironment(mounted))).toThrow(/API_KEY_PEPPER/);
    const config = parseConfig(
      filledEnvironment({
        ...mounted,
        API_KEY_PEPPER: likeASecret('pepper'),
        ENCRYPTION_KEYS: PRODUCTION.ENCRYPTION_KEYS,
        TEMPORAL_POSTGRES_PASSWORD: likeASecret('database').slice(0, 32),
        TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
        TWILIO_AUTH_TOKEN: likeASecret('twilio').slice(0, 32),
        OPENAI_API_KEY: 'k',
        CARRIER_FROM_NUMBER: '+12025550199',
      }),
    );
    expect(config).toMatchObject({ production: true, publicBaseUrl: 'https://calls.example.com' });
    expect(config.api.trustProxy).toBe(true);
  });

  it('takes secrets from files with the override of the handbook, in every role', () => {
    const [, block = ''] = /^```yaml\n(x-files:[^]*?)^```$/m.exec(read('docs/operations/install.md')) ?? [];
    const override = z
      .object({ services: z.record(z.string(), service.pick({ environment: true, volumes: true })) })
      .parse(safeLoad(block));
    expect(Object.keys(override.services).toSorted()).toEqual(ours.map(([name]) => name).toSorted());
    const folder = mkdtempSync(join(tmpdir(), 'callwright-secrets-'));
    writeFileSync(join(folder, 'mongodb-uri'), 'mongodb://database.test/calls\n');
    for (const { environment, volumes } of Object.values(override.services)) {
      const mounted = volumes.map((volume) => volume.split(':')[1]);
      expect(mounted).toEqual(['/run/secrets', '/etc/callwright/carriers']);
      const here = JSON.stringify(environment).replaceAll('/run/secrets', folder);
      const config = parseConfig({ ...filledEnvironment({}), ...(JSON.parse(here) as Record<string, string>) });
      expect(config.mongodbUri).toBe('mongodb://database.test/calls');
    }
  });

  function filledEnvironment(env: Record<string, string>): Record<string, string> {
    const environment = services['api']?.environment ?? {};
    return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filledIn(value, env)]));
  }
});
