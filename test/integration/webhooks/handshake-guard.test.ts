import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, createServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { createTrustAnchors } from '../../../src/platform/egress/certificates/anchors.js';
import { findChainFault } from '../../../src/platform/egress/certificates/chain-check.js';
import { CountedSocket } from '../../../src/platform/egress/counted-socket.js';
import { createHandshakeGuard } from '../../../src/platform/egress/handshake-guard.js';
import { WARNING } from '../../security/support/raw-tls-server.js';
import { receiverCertificate } from './support/receiver.js';

const anchors = createTrustAnchors([receiverCertificate().cert.toString()]);
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Starts a server that says hello to its clients. Returns a connection to it. */
async function connectTo(options: TlsOptions): Promise<Socket> {
  const server = createServer({ ...receiverCertificate(), ...options }, (socket) => socket.end('hello'));
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tcp = connect((server.address() as AddressInfo).port, '127.0.0.1');
  closers.push(() => {
    tcp.destroy();
    server.close();
  });
  await once(tcp, 'connect');
  return tcp;
}

/**
 * Reads what a server says over TLS, through the guard.
 * @param p.pieceBytes what the server sends arrives in pieces of this size
 * @param p.first arrives before what the server sends
 * @param p.secretOf changes the secret of the key log
 */
async function read(
  tcp: Socket,
  p: { pieceBytes: number; first?: Buffer; secretOf?: (secret: Buffer) => Buffer },
): Promise<{ said: string; version: string | null }> {
  const { pieceBytes, secretOf = (secret) => secret } = p;
  let first = p.first ?? Buffer.alloc(0);
  const socket: CountedSocket = new CountedSocket(tcp, ({ chunk }) => {
    const bytes = Buffer.concat([first, chunk]);
    first = Buffer.alloc(0);
    for (let at = 0; at < bytes.length; at += pieceBytes) guard.receive(bytes.subarray(at, at + pieceBytes));
  });
  const guard = createHandshakeGuard({
    pass: (bytes) => socket.pass(bytes),
    findFault: (chain) => findChainFault(chain, anchors),
  });
  const tls: TLSSocket = connectTls({ socket: socket as never, rejectUnauthorized: false });
  tls.on('keylog', (line: Buffer) => {
    const [label, , secret = ''] = line.toString().trim().split(' ');
    if (label !== 'SERVER_HANDSHAKE_TRAFFIC_SECRET') return;
    socket.endIfThrown(() => guard.setSecret(secretOf(Buffer.from(secret, 'hex'))));
  });
  let version: string | null = null;
  tls.once('secureConnect', () => (version = tls.getProtocol()));
  let said = '';
  for await (const chunk of tls) said += String(chunk);
  return { said, version };
}

const SERVERS: [string, TlsOptions][] = [
  ['TLSv1.2', { maxVersion: 'TLSv1.2' }],
  ['TLSv1.3', { minVersion: 'TLSv1.3' }],
  ['TLSv1.3, another start', { minVersion: 'TLSv1.3', ecdhCurve: 'P-521' }],
  ['TLSv1.3, certificates of clients', { minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: false }],
];

describe('the guard of TLS handshakes', () => {
  it.each(SERVERS.flatMap(([name, options]) => [1, 3, 7, 16_384].map((bytes) => ({ name, options, bytes }))))(
    'lets an ordinary handshake pass in pieces of $bytes bytes ($name)',
    async ({ name, options, bytes }) => {
      const received = await read(await connectTo(options), { pieceBytes: bytes });
      expect(received).toEqual({ said: 'hello', version: name.slice(0, 7) });
    },
  );

  it('lets a warning before the handshake pass, as TLS does', async () => {
    const tcp = await connectTo({ maxVersion: 'TLSv1.2' });
    expect((await read(tcp, { pieceBytes: 16_384, first: WARNING })).said).toBe('hello');
  });

  it.each([
    ['a fatal alert', Buffer.from([21, 3, 3, 0, 2, 2, 40])],
    ['data', Buffer.from([23, 3, 3, 0, 1, 0])],
    ['a change of the cipher', Buffer.from([20, 3, 3, 0, 1, 1])],
    ['a message of another type', Buffer.from([22, 3, 3, 0, 4, 0, 0, 0, 0])],
    ['a ServerHello that is cut off', Buffer.from([22, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3])],
  ])('rejects %s before the certificates', async (_, first) => {
    const tcp = await connectTo({});
    await expect(read(tcp, { pieceBytes: 16_384, first })).rejects.toThrow(/handshake|certificates|ServerHello/);
  });

  it('rejects records that it cannot decrypt', async () => {
    const tcp = await connectTo({ minVersion: 'TLSv1.3' });
    const secretOf = (secret: Buffer) => Buffer.alloc(secret.length);
    await expect(read(tcp, { pieceBytes: 16_384, secretOf })).rejects.toThrow('unable to authenticate data');
  });
});
