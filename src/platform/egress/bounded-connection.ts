import { connect, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';

/** How often to count the bytes on the wire. Bytes that belong to TLS itself cause no event, so they must be polled. */
const COUNT_EVERY_MS = 20;

/** Thrown when a server sends more bytes than allowed; the connection ends. */
class TooManyBytesError extends Error {
  override readonly name = 'TooManyBytesError';
  readonly code = 'TOO_MANY_BYTES';
}

interface Bounds {
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
  const encrypt = buildConnector({ timeout: bounds.timeoutMs });
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
    let outer: Socket = tcp;
    const fail = (error: Error) => {
      if (isSettled) return;
      isSettled = true;
      callback(error, null);
    };
    const succeed = (socket: Socket) => {
      if (isSettled) return;
      isSettled = true;
      outer = socket;
      // Listen before the dispatcher does, so that its parser never receives bytes beyond the limit.
      socket.on('readable', () => {
        if (socket.bytesRead > bounds.maxBytes) socket.destroy(tooManyBytes());
      });
      callback(null, socket);
    };
    const count = setInterval(() => {
      if (tcp.bytesRead <= bounds.maxWireBytes) return;
      fail(tooManyBytes());
      outer.destroy(tooManyBytes());
    }, COUNT_EVERY_MS);
    tcp.on('error', fail).once('close', () => clearInterval(count));
    tcp.once('connect', () => {
      if (!secure) return succeed(tcp);
      encrypt({ ...target, httpSocket: tcp }, (...[error, socket]) => (error === null ? succeed(socket) : fail(error)));
    });
  };
}

function tooManyBytes(): TooManyBytesError {
  return new TooManyBytesError('The server sent too many bytes.');
}
