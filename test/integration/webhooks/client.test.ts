import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TlsOptions } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { NameError, type ResolveName } from '../../../src/platform/egress/name-resolver.js';
import { createWebhookClient } from '../../../src/webhooks/client.js';
import { egressConfig } from '../../support/egress-config.js';
import { startReceiver, startTcpListener, RECEIVER_CERTIFICATE, type Receiver } from './support/receiver.js';

const BODY = '{"call_id":"call_1"}';
const HEADERS = { 'content-type': 'application/json' };

/** A client that posts the webhooks of one customer. */
function clientOf(settings: Parameters<typeof egressConfig>[0] = {}, resolve?: ResolveName) {
  const client = createWebhookClient({ config: egressConfig(settings), ...(resolve === undefined ? {} : { resolve }) });
  return {
    post: (url: string, body: string, headers: Record<string, string>) =>
      client.post({ accountId: 'acct_1', url, body, headers }),
  };
}

const client = clientOf();
const guardedClient = clientOf({ guarded: true });

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function receiver(...parameters: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...parameters);
  closers.push(() => started.close());
  return started;
}

async function tcpListener(...parameters: Parameters<typeof startTcpListener>) {
  const started = await startTcpListener(...parameters);
  closers.push(() => started.close());
  return started;
}

describe('webhook client', () => {
  it('posts the given bytes and headers, and requests no compression', async () => {
    const { url, received } = await receiver((response) => response.writeHead(200).end('thanks'));
    await expect(client.post(url, BODY, HEADERS)).resolves.toMatchObject({
      delivered: true,
      httpStatus: 200,
      responseBody: 'thanks',
    });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({ method: 'POST', path: '/hook?from=callwright', body: BODY });
    expect(received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'content-length': String(BODY.length),
    });
  });

  it.each([200, 201, 202, 204, 299])('counts %d as delivered', async (status) => {
    const { url } = await receiver((response) => response.writeHead(status).end());
    await expect(client.post(url, BODY, HEADERS)).resolves.toMatchObject({ delivered: true, httpStatus: status });
  });

  it.each([400, 404, 410, 429, 500, 503])('counts %d as failed, without waiting', async (status) => {
    const { url } = await receiver((response) => response.writeHead(status, { 'retry-after': '60' }).end('no'));
    const result = await client.post(url, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'status', httpStatus: status, responseBody: 'no' });
    expect(result.durationMs).toBeLessThan(1_000);
  });

  it.each([301, 302, 303, 307, 308])('does not follow %d', async (status) => {
    const canary = await tcpListener();
    const { url, received } = await receiver((response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${canary.port}/` }).end(),
    );
    const result = await client.post(url, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'redirect', httpStatus: status });
    expect(received).toHaveLength(1);
    expect(canary.connections()).toBe(0);
  });

  it('fails at once when the connection is rejected', async () => {
    const listener = await startTcpListener();
    await listener.close();
    const result = await client.post(`http://127.0.0.1:${listener.port}/`, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'connection_refused' });
    expect(result.durationMs).toBeLessThan(1_000);
  });

  it('fails with dns_failed if the name does not exist', async () => {
    const clientWithoutName = clientOf({ guarded: true }, async () => {
      throw new NameError('ENOTFOUND');
    });
    await expect(clientWithoutName.post('http://receiver.invalid/', BODY, HEADERS)).resolves.toMatchObject({
      error: 'dns_failed',
    });
  });

  it('ends a hanging lookup with the attempt', async () => {
    const hanging = clientOf({ guarded: true }, () => new Promise(() => {}));
    const result = await hanging.post('http://receiver.invalid/', BODY, HEADERS);
    expect(result).toMatchObject({ error: 'timeout' });
    expect(result.durationMs).toBeLessThan(8_000);
  });

  it('fails when the connection breaks', async () => {
    const listener = await tcpListener((socket) => socket.once('data', () => socket.destroy()));
    await expect(client.post(`http://127.0.0.1:${listener.port}/`, BODY, HEADERS)).resolves.toMatchObject({
      delivered: false,
      error: 'connection_lost',
    });
  });

  it('fails when the response breaks in its body', async () => {
    const { url } = await receiver((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setTimeout(() => response.destroy(), 50);
    });
    await expect(client.post(url, BODY, HEADERS)).resolves.toMatchObject({ delivered: false, httpStatus: 200 });
  });

  it('fails when the response is not HTTP', async () => {
    const listener = await tcpListener((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n')));
    await expect(client.post(`http://127.0.0.1:${listener.port}/`, BODY, HEADERS)).resolves.toMatchObject({
      delivered: false,
      error: 'invalid_response',
    });
  });

  it('keeps the first KiB of a response', async () => {
    const { url } = await receiver((response) => response.writeHead(200).end('ä'.repeat(10_000)));
    const { responseBody } = await client.post(url, BODY, HEADERS);
    expect(responseBody).toBe('ä'.repeat(512));
  });

  it('fails on a body of more than 64 KiB, without reading the rest', async () => {
    let written = 0;
    const { url } = await receiver((response) => {
      const chunk = Buffer.alloc(65_536, 'x');
      const pump = () => {
        while (!response.destroyed && written < 200 * chunk.length && response.write(chunk)) written += chunk.length;
      };
      response.writeHead(200).on('drain', pump);
      pump();
    });
    const result = await client.post(url, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'response_too_large', httpStatus: 200 });
    expect(written).toBeLessThan(200 * 65_536);
  });

  it('fails on 60 kB of headers', async () => {
    const { url } = await receiver((response) => response.writeHead(200, { 'x-long': 'x'.repeat(60_000) }).end());
    await expect(client.post(url, BODY, HEADERS)).resolves.toMatchObject({
      delivered: false,
      error: 'response_too_large',
    });
  });

  it('keeps a compressed response as received', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const { url } = await receiver((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const { delivered, responseBody } = await client.post(url, BODY, HEADERS);
    expect(delivered).toBe(true);
    expect(responseBody?.length).toBeLessThanOrEqual(1_024);
  });
});

describe('the timeout of an attempt', () => {
  const slow: [string, () => Promise<string>][] = [
    ['a receiver that never responds', async () => (await receiver(() => {})).url],
    [
      'slow headers',
      async () => {
        const listener = await tcpListener((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n');
          const drip = setInterval(() => socket.write('x-drip: 1\r\n'), 200);
          socket.on('close', () => clearInterval(drip));
        });
        return `http://127.0.0.1:${listener.port}/`;
      },
    ],
    [
      'a slow body',
      async () => {
        const { url } = await receiver((response) => {
          response.writeHead(200).write('.');
          const drip = setInterval(() => response.write('.'), 200);
          response.on('close', () => clearInterval(drip));
        });
        return url;
      },
    ],
    ['a hanging TLS handshake', async () => `https://127.0.0.1:${(await tcpListener()).port}/`],
  ];

  it('ends it after 5 s in all, whichever part is slow', async () => {
    const results = await Promise.all(
      slow.map(async ([name, start]) => ({ name, ...(await client.post(await start(), BODY, HEADERS)) })),
    );
    for (const { name, delivered, error, durationMs } of results) {
      expect({ name, delivered, error }).toEqual({ name, delivered: false, error: 'timeout' });
      expect(durationMs).toBeGreaterThanOrEqual(4_900);
      expect(durationMs).toBeLessThan(8_000);
    }
    // The body never ended, but the status is known.
    expect(results[2]).toMatchObject({ httpStatus: 200 });
  });

  it('reports an error status earlier when its body is slow', async () => {
    const { url } = await receiver((response) => {
      response.writeHead(500).write('sorry');
      const drip = setInterval(() => response.write('.'), 200);
      response.on('close', () => clearInterval(drip));
    });
    const result = await client.post(url, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'status', httpStatus: 500 });
    expect(result.responseBody).toMatch(/^sorry/);
    expect(result.durationMs).toBeLessThan(4_000);
  });
});

describe('https', () => {
  it('fails without sending anything if the certificate is not trusted', async () => {
    const { url, received } = await receiver((response) => response.end(), { tls: true });
    await expect(client.post(url, BODY, HEADERS)).resolves.toMatchObject({ delivered: false, error: 'tls_failed' });
    expect(received).toHaveLength(0);
  });

  // Each has another handshake. With P-384 only, the receiver asks for another start of the handshake.
  it.each<[string, TlsOptions]>([
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.3, AES-128', { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' }],
    ['TLS 1.3, AES-256', { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_256_GCM_SHA384' }],
    ['TLS 1.3, ChaCha20', { minVersion: 'TLSv1.3', ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
    ['TLS 1.3, P-384', { minVersion: 'TLSv1.3', ecdhCurve: 'P-384' }],
    ['TLS 1.3, certificates of clients', { minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: false }],
  ])('delivers to a receiver whose certificate is trusted (%s)', async (_, tls) => {
    const { url, received } = await receiver((response) => response.writeHead(204).end(), { tls });
    // Node.js reads the trusted certificates only when a process starts, so this runs in another process.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', join(__dirname, 'support', 'post-once.ts'), url, BODY],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: RECEIVER_CERTIFICATE }, timeout: 30_000 },
    );
    expect(JSON.parse(stdout)).toMatchObject({ delivered: true, httpStatus: 204 });
    expect(received[0]?.body).toBe(BODY);
  });
});

describe('the address guard of production', () => {
  it.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '127.0.0.1.'])(
    'does not connect to %s',
    async (host) => {
      const canary = await tcpListener();
      for (const scheme of ['http', 'https']) {
        const result = await guardedClient.post(`${scheme}://${host}:${canary.port}/`, BODY, HEADERS);
        expect(result).toMatchObject({ delivered: false, error: 'blocked' });
      }
      expect(canary.connections()).toBe(0);
    },
  );

  it.each(['http', 'https'])('does not connect over %s if one address of a name is private', async (scheme) => {
    const canary = await tcpListener();
    const mixed = clientOf({ guarded: true }, async () => [
      { address: '93.184.215.14', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]);
    const result = await mixed.post(`${scheme}://receiver.example:${canary.port}/`, BODY, HEADERS);
    expect(result).toMatchObject({ delivered: false, error: 'blocked' });
    expect(canary.connections()).toBe(0);
  });

  it('checks the lookup that it connects by, so that a changed address has no effect', async () => {
    const canary = await tcpListener(() => {}, '127.0.0.2');
    const { url, received } = await receiver((response) => response.writeHead(200).end());
    let lookups = 0;
    const rebound = clientOf(
      // The allowed address stands for a public one. The redirect leads to a private address.
      { guarded: true, allowCidrs: ['127.0.0.1/32'] },
      async () => [{ address: ++lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    );
    const named = (port: string | number) => `http://receiver.example:${port}/`;
    await expect(rebound.post(named(new URL(url).port), BODY, HEADERS)).resolves.toMatchObject({ delivered: true });
    expect(lookups).toBe(1);
    expect(received[0]?.headers.host).toBe(`receiver.example:${new URL(url).port}`);
    await expect(rebound.post(named(canary.port), BODY, HEADERS)).resolves.toMatchObject({ error: 'blocked' });
    expect(canary.connections()).toBe(0);
  });

  it('delivers to a private range that the operator allows', async () => {
    const { url, received } = await receiver((response) => response.writeHead(200).end());
    const opened = clientOf({ guarded: true, allowCidrs: ['127.0.0.0/8'] });
    await expect(opened.post(url, BODY, HEADERS)).resolves.toMatchObject({ delivered: true });
    expect(received).toHaveLength(1);
  });
});
