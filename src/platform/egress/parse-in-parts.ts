import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes per part; the shortest request has 18. */
const PARSED_AT_ONCE = 1_024;

/**
 * Makes a server parse incoming bytes in small parts. Node's parser otherwise creates requests from a whole chunk, even
 * after the first one closed the connection: 64 KiB hold 2,600 short requests, and each costs an error on closing.
 */
export function parseInParts(server: Server): void {
  server.on('connection', (socket: Socket) => {
    // Node's own listener. If a later release reads in another way, there is none and nothing changes.
    const [parse] = socket.listeners('data');
    if (parse === undefined || socket.listenerCount('data') !== 1) return;
    socket.removeListener('data', parse as (chunk: Buffer) => void);
    socket.on('data', read);

    function read(chunk: Buffer): void {
      // Parse nothing after the last response.
      for (let at = 0; at < chunk.length && socket.writable; at += PARSED_AT_ONCE) {
        // Node pauses a connection whose output buffer is full, and its parser accepts no bytes until it resumes.
        if (socket.isPaused()) {
          socket.unshift(chunk.subarray(at));
          return;
        }
        parse?.call(socket, chunk.subarray(at, at + PARSED_AT_ONCE));
        // An upgraded connection does not flow until its new owner listens; the remaining bytes belong to that owner.
        if (socket.readableFlowing === null) {
          socket.removeListener('data', read);
          const rest = chunk.subarray(at + PARSED_AT_ONCE);
          if (rest.length > 0) socket.unshift(rest);
          return;
        }
      }
    }
  });
}
