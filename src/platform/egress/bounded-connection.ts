import { constants } from 'node:crypto';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { DEFAULT_CIPHERS, type TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import type { TrustAnchors } from './certificates/anchors.js';
import { findChainFault } from './certificates/chain-check.js';
import { CountedSocket } from './counted-socket.js';
import { createHandshakeGuard } from './handshake-guard.js';

/** Certificates of real servers have 3 to 8 kB. */
const MAX_HANDSHAKE_BYTES = 16_384;

/**
 * No key exchange whose arithmetic the server can make slow, as a prime of 10,000 bits does (a second), and no second
 * one. All servers of the last ten years support elliptic curves.
 */
const KEY_EXCHANGE = {
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

/** Thrown when a server sends more bytes than allowed; the connection ends. */
class TooManyBytesError extends Error {
  override readonly name = 'TooManyBytesError';
  readonly code = 'TOO_MANY_BYTES';
}

interface Bounds {
  /** The authorities that TLS trusts. */
  anchors: () => TrustAnchors;
  lookup: LookupFunction;
  /** Timeout of the TCP connection, and again of the TLS handshake, in ms. */
  timeoutMs: number;
  /** Ends the connection when aborted. */
  signal: AbortSignal;
  /** Maximum decrypted bytes that the server may send: status lines, headers, framing and bodies. */
  maxBytes: number;
  /** Maximum encrypted bytes that the server may send, including those of TLS itself. */
  maxWireBytes: number;
}

/** Creates the `connect` function of a dispatcher. A connection ends when its server has sent too many bytes. */
export function createBoundedConnector(bounds: Bounds): buildConnector.connector {
  const encrypt = buildConnector({ timeout: bounds.timeoutMs, ...KEY_EXCHANGE });
  return (target, callback) => {
    const secure = target.protocol === 'https:';
    const tcp = connect({
      host: target.hostname,
      port: Number(target.port || (secure ? 443 : 80)),
      lookup: bounds.lookup,
      signal: bounds.signal,
      noDelay: true,
    });
    // Report the outcome to the dispatcher only once, although both TCP and TLS may fail.
    let isSettled = false;
    const fail = (error: Error) => {
      if (isSettled) return;
      isSettled = true;
      callback(error, null);
    };
    const succeed = (socket: Socket) => {
      if (isSettled) return;
      isSettled = true;
      // Listen before the dispatcher does, so that its parser never receives bytes beyond the limit.
      socket.on('readable', () => {
        if (socket.bytesRead > bounds.maxBytes) socket.destroy(tooManyBytes());
      });
      callback(null, socket);
    };
    tcp.on('error', fail);
    tcp.once('connect', () => {
      if (!secure) return succeed(tcp);
      const guarded = guardHandshake(tcp, bounds, () => isSettled);
      guarded.socket.on('error', fail);
      const encrypted = encrypt({ ...target, httpSocket: guarded.socket as never }, (...[error, socket]) =>
        error === null ? succeed(socket) : fail(error),
      ) as unknown as TLSSocket;
      encrypted.on('keylog', guarded.onKeyLog);
    });
  };
}

/** Limits the bytes that a server sends, above all in the handshake, and the costs of its certificates. */
function guardHandshake(tcp: Socket, bounds: Bounds, isConnected: () => boolean) {
  const socket: CountedSocket = new CountedSocket(tcp, ({ chunk, totalBytes }) => {
    if (totalBytes > (isConnected() ? bounds.maxWireBytes : MAX_HANDSHAKE_BYTES)) throw tooManyBytes();
    guard.receive(chunk);
  });
  const guard = createHandshakeGuard({
    pass: (bytes) => socket.pass(bytes),
    findFault: (chain) => findChainFault(chain, bounds.anchors()),
  });
  return {
    socket,
    /** Takes a line of the key log of TLS: a label, the client's random value, and the secret. */
    onKeyLog: (line: Buffer): void => {
      const [label, , secret = ''] = line.toString('latin1').trim().split(' ');
      if (label === 'SERVER_HANDSHAKE_TRAFFIC_SECRET')
        socket.endIfThrown(() => guard.setSecret(Buffer.from(secret, 'hex')));
    },
  };
}

function tooManyBytes(): TooManyBytesError {
  return new TooManyBytesError('The server sent too many bytes.');
}
