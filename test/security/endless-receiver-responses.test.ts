import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { createEgressClient } from '../../src/platform/egress/client.js';
import { egressConfig } from '../support/egress-config.js';
import { receiverCertificate, RECEIVER_CERTIFICATE } from '../integration/webhooks/support/receiver.js';

/** More bytes than a process may read of one response. The bytes in the kernel's buffers also count as sent. */
const ENOUGH_BYTES = 30_000_000;
const POST_ONCE = join(__dirname, '..', 'integration', 'webhooks', 'support', 'post-once.ts');
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const client = createEgressClient({ config: egressConfig() });
let sent = 0;
const servers: Server[] = [];
beforeEach(() => {
  sent = 0;
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Starts a server whose responses never end: each begins with `start` and continues with `part`, again and again. */
async function endless(start: string, part: string): Promise<string> {
  return urlOf(
    'http',
    createTcpServer((socket) => socket.once('data', () => sendUntilClosed(socket, start, part))),
  );
}

async function urlOf(scheme: 'http' | 'https', server: Server): Promise<string> {
  servers.push(server);
  server.on('connection', (socket: Socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function sendUntilClosed(socket: Socket, start: string, part: string): void {
  const block = Buffer.from(part.repeat(Math.ceil(65_536 / part.length)));
  socket.write(start);
  const send = () => {
    if (socket.destroyed || sent >= ENOUGH_BYTES) return;
    sent += block.length;
    if (socket.write(block)) setImmediate(send);
    else socket.once('drain', send);
  };
  send();
}

function post(url: string) {
  const asked = { accountId: 'acct_1', method: 'POST', url, body: '{}', headers: {}, keepBytes: 65_536 } as const;
  return client.send({ ...asked, timeoutMs: 5_000 });
}

describe('a receiver whose response does not end', () => {
  it.each([
    ['informational responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['informational responses with headers', '', `HTTP/1.1 103 Early Hints\r\nLink: ${'x'.repeat(8_000)}\r\n\r\n`],
    ['a chunk extension', `${CHUNKED}1;`, 'x'.repeat(30)],
    ['chunk extensions', CHUNKED, `1;${'x'.repeat(60)}\r\na\r\n`],
    ['chunks of one byte', CHUNKED, '1\r\na\r\n'],
    ['the length of a chunk', CHUNKED, '0'.repeat(30)],
    ['trailers', `${CHUNKED}0\r\n`, 'X: x\r\n'],
    ['blank lines before the response', '', '\r\n'],
    ['the reason of the status', 'HTTP/1.1 200 ', 'OK '],
  ])('is cut off when it sends %s', async (_what, start, part) => {
    const answer = await post(await endless(start, part));
    expect(answer).toMatchObject({ succeeded: false, error: 'response_too_large' });
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  });

  it('is cut off when the status is a failure', async () => {
    const failure = 'HTTP/1.1 500 Error\r\nTransfer-Encoding: chunked\r\n\r\n1;';
    const answer = await post(await endless(failure, 'x'.repeat(30)));
    expect(answer).toMatchObject({ succeeded: false, error: 'status', httpStatus: 500 });
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  });

  it('is cut off when TLS encrypts it', async () => {
    const url = await urlOf(
      'https',
      createTlsServer(receiverCertificate(), (socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => sendUntilClosed(socket, `${CHUNKED}1;`, 'x'.repeat(30)));
      }),
    );
    // Node.js reads the trusted certificates only when a process starts, so this runs in another process.
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', POST_ONCE, url, '{}'], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: RECEIVER_CERTIFICATE },
      timeout: 30_000,
    });
    expect(JSON.parse(stdout)).toMatchObject({ delivered: false, error: 'response_too_large', httpStatus: 200 });
    expect(sent).toBeLessThan(ENOUGH_BYTES);
  }, 30_000);
});

describe('a receiver that is only talkative', () => {
  it.each([
    [
      'a few informational responses',
      `${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(3)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    ],
    ['a body of 64 KiB in chunks of 64 bytes', `${CHUNKED}${`40\r\n${'x'.repeat(64)}\r\n`.repeat(1_024)}0\r\n\r\n`],
  ])('is understood: %s', async (_what, response) => {
    const url = await urlOf(
      'http',
      createTcpServer((socket) => socket.once('data', () => socket.end(response))),
    );
    expect(await post(url)).toMatchObject({ succeeded: true, httpStatus: 200 });
  });
});
