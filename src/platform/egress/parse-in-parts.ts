import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes; the shortest request has 18. */
const PARSED_AT_ONCE = 1_024;

/**
 * Has a server parse what arrives in small parts. Its parser makes requests of all that it is given, also when the first
 * of them has closed the connection: 64 KiB hold 2,600 short ones, each of which costs an error on closing.
 */
export function parseInParts(server: Server): void {
  server.on('connection', (socket: Socket) => {
    // Node's own listener. Where a later release reads in another way, there is none and nothing changes.
    const [parse] = socket.listeners('data');
    if (parse === undefined || socket.listenerCount('data') !== 1) return;
    socket.removeListener('data', parse as (chunk: Buffer) => void);
    socket.on('data', read);

    function read(chunk: Buffer): void {
      // Nothing that comes behind the last answer is parsed.
      for (let at = 0; at < chunk.length && socket.writable; at += PARSED_AT_ONCE) {
        // Node pauses a connection whose output is full, and its parser takes no bytes meanwhile.
        if (socket.isPaused()) {
          socket.unshift(chunk.subarray(at));
          return;
        }
        parse?.call(socket, chunk.subarray(at, at + PARSED_AT_ONCE));
        // An upgraded connection is not flowing until its new owner listens; what is left belongs to him.
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
