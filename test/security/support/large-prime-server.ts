import { randomBytes, sign } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';

/** The suite DHE-RSA-AES128-GCM-SHA256 of TLS 1.2 (RFC 5288). */
const SUITE = 0x009e;
const VERSION = Buffer.from([3, 3]);
const CLIENT_HELLO_RANDOM_AT = 11;
const HANDSHAKE = 22;
const TYPES = { serverHello: 2, certificate: 11, serverKeyExchange: 12, serverHelloDone: 14 } as const;

const uint = (bytes: number, value: number) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};
const prefixed = (bytes: number, content: Uint8Array) => Buffer.concat([uint(bytes, content.length), content]);
const message = (type: number, ...parts: Uint8Array[]) =>
  Buffer.concat([uint(1, type), prefixed(3, Buffer.concat(parts))]);

/**
 * A TLS 1.2 server that chooses a Diffie-Hellman group of 10,000 bits, the most that OpenSSL accepts. The client computes
 * with it before it checks the certificate; the server computes nothing.
 */
export function createLargePrimeServer({ key, cert }: { key: string; cert: string }): Server {
  const der = Buffer.from(cert.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const prime = randomBytes(1_250);
  prime[0] = 0xff;
  prime[prime.length - 1] = 0xff;
  const publicValue = Buffer.concat([Buffer.from([0x7f]), randomBytes(1_249)]);
  const group = Buffer.concat([prefixed(2, prime), prefixed(2, Buffer.from([2])), prefixed(2, publicValue)]);

  function respond(socket: Socket, hello: Buffer): void {
    const clientRandom = hello.subarray(CLIENT_HELLO_RANDOM_AT, CLIENT_HELLO_RANDOM_AT + 32);
    const random = randomBytes(32);
    const signature = sign('sha256', Buffer.concat([clientRandom, random, group]), key);
    const renegotiation = prefixed(2, Buffer.from([0xff, 1, 0, 1, 0]));
    const flight = Buffer.concat([
      message(TYPES.serverHello, VERSION, random, uint(1, 0), uint(2, SUITE), uint(1, 0), renegotiation),
      message(TYPES.certificate, prefixed(3, prefixed(3, der))),
      message(TYPES.serverKeyExchange, group, Buffer.from([4, 1]), prefixed(2, signature)),
      message(TYPES.serverHelloDone),
    ]);
    socket.write(Buffer.concat([uint(1, HANDSHAKE), VERSION, prefixed(2, flight)]));
  }

  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (hello: Buffer) => {
      respond(socket, hello);
      socket.once('data', () => socket.destroy());
    });
  });
}
