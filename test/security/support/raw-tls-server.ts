import { randomBytes, sign } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Suites of TLS 1.2: DHE-RSA-AES128-GCM-SHA256 (RFC 5288), ECDHE-ECDSA-AES128-GCM-SHA256 (RFC 5289). */
const DHE_RSA = 0x009e;
const ECDHE_ECDSA = 0xc02b;
const VERSION = Buffer.from([3, 3]);
const CLIENT_RANDOM_AT = 11;
const RECORD_BYTES = 16_000;
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

const serverHello = (suite: number, random: Buffer) =>
  message(
    TYPES.serverHello,
    VERSION,
    random,
    uint(1, 0),
    uint(2, suite),
    uint(1, 0),
    prefixed(2, Buffer.from([0xff, 1, 0, 1, 0])),
  );
const certificates = (pems: readonly string[]) =>
  message(TYPES.certificate, prefixed(3, Buffer.concat(pems.map((pem) => prefixed(3, derOf(pem))))));
const derOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');

/** Starts the handshake of TLS 1.2 with given messages, and computes nothing. */
function createRawServer(flightFor: (clientRandom: Buffer) => Buffer[], before = Buffer.alloc(0)): Server {
  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (hello: Buffer) => {
      socket.write(before);
      const flight = Buffer.concat(flightFor(hello.subarray(CLIENT_RANDOM_AT, CLIENT_RANDOM_AT + 32)));
      for (let at = 0; at < flight.length; at += RECORD_BYTES) {
        const part = flight.subarray(at, at + RECORD_BYTES);
        socket.write(Buffer.concat([uint(1, HANDSHAKE), VERSION, prefixed(2, part)]));
      }
      socket.once('data', () => socket.destroy());
    });
  });
}

/**
 * A server that chooses a Diffie-Hellman group of 10,000 bits, the most that OpenSSL accepts. A client that agrees computes
 * with it before it looks at the certificate.
 */
export function createLargePrimeServer({ key, cert }: { key: string; cert: string }): Server {
  const prime = randomBytes(1_250);
  prime[0] = 0xff;
  prime[prime.length - 1] = 0xff;
  const publicValue = Buffer.concat([Buffer.from([0x7f]), randomBytes(1_249)]);
  const group = Buffer.concat([prefixed(2, prime), prefixed(2, Buffer.from([2])), prefixed(2, publicValue)]);
  return createRawServer((clientRandom) => {
    const random = randomBytes(32);
    const signature = sign('sha256', Buffer.concat([clientRandom, random, group]), key);
    return [
      serverHello(DHE_RSA, random),
      certificates([cert]),
      message(TYPES.serverKeyExchange, group, Buffer.from([4, 1]), prefixed(2, signature)),
      message(TYPES.serverHelloDone),
    ];
  });
}

/** A server that sends these certificates. @param before a record to send first */
export function createCertificateServer(pems: readonly string[], before = Buffer.alloc(0)): Server {
  return createRawServer(() => [serverHello(ECDHE_ECDSA, randomBytes(32)), certificates(pems)], before);
}

/** A warning that does not end a handshake: `unrecognized_name` (RFC 6066). */
export const WARNING = Buffer.from([21, 3, 3, 0, 2, 1, 112]);
