import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeSoon } from './close-soon.js';
import { createPieceAllowance } from './piece-allowance.js';

/** Maximum bytes per part. A part can contain 56 requests, because the shortest possible one has 18 bytes. */
const PARSED_AT_ONCE = 1_024;

/**
 * Makes a server parse incoming bytes in small parts. Otherwise Node's parser creates requests from a whole chunk, even
 * after the first one closed the connection: 64 KiB can hold 2,600 short requests, and each costs an error on
 * closing. They can also hold 10,900 chunks of a body, so a connection may send only few small chunks.
 * @param p.takePieces returns the number of body chunks that were parsed since the last call
 */
export function parseInParts(server: Server, { takePieces }: { takePieces: () => number }): void {
  const responses = new WeakMap<Socket, ServerResponse>();
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    responses.set(socket, response);
  });

  server.on('connection', (socket: Socket) => {
    // Replace Node's listener for received bytes. If a later release of Node has no such listener, leave the connection
    // as it is.
    const [parse] = socket.listeners('data');
    if (parse === undefined || socket.listenerCount('data') !== 1) return;
    socket.removeListener('data', parse as (chunk: Buffer) => void);
    socket.on('data', read);
    const allowance = createPieceAllowance();

    function read(chunk: Buffer): void {
      // Parse nothing after the last response.
      for (let at = 0; at < chunk.length && socket.writable; at += PARSED_AT_ONCE) {
        // Node pauses a connection whose output buffer is full, and its parser accepts no bytes until it resumes.
        if (socket.isPaused()) {
          socket.unshift(chunk.subarray(at));
          return;
        }
        const part = chunk.subarray(at, at + PARSED_AT_ONCE);
        takePieces();
        parse?.call(socket, part);
        if (!allowance.take(takePieces(), part.length) && socket.writable) {
          reject(server, socket, responses.get(socket));
          return;
        }
        // After an upgrade, the socket is paused until the new protocol reads it, or the new protocol reads it already.
        // Leave the remaining bytes to that protocol: Node has freed the parser.
        if (socket.readableFlowing === null || socket.listenerCount('data') > 1) {
          socket.removeListener('data', read);
          const rest = chunk.subarray(at + PARSED_AT_ONCE);
          if (rest.length > 0) socket.unshift(rest);
          return;
        }
      }
    }
  });
}

function reject(server: Server, socket: Socket, response: ServerResponse | undefined): void {
  const error = Object.assign(new Error('The request body comes in too many small chunks.'), {
    code: 'ERR_SMALL_CHUNKS',
  });
  // The client would mistake a second response for part of the first one.
  if (response?.headersSent) socket.end();
  else if (!server.emit('clientError', error, socket)) {
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  }
  // Until then, its bytes are discarded without parsing.
  closeSoon(socket);
}
