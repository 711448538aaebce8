import { createServer, IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { parseInParts } from './parse-in-parts.js';

/**
 * Creates an HTTP server that limits the cost of parsing requests. All servers of this project are created here. If a
 * connection sends its bodies in thousands of small chunks, the server emits 'clientError' with the code
 * `ERR_SMALL_CHUNKS`, or responds with 400 if nothing listens to that event, and closes the connection.
 */
export function createHttpServer(options: ServerOptions, listener: RequestListener): Server {
  let pieces = 0;

  class CountedMessage extends IncomingMessage {
    override push(chunk: unknown, encoding?: BufferEncoding): boolean {
      if (chunk !== null) pieces += 1;
      return super.push(chunk, encoding);
    }

    /**
     * Node calls this to discard an unread body. Node's default method would bypass `push`, which counts the chunks.
     */
    _dump(): void {
      this.removeAllListeners('data');
      this.resume();
    }
  }

  const server = createServer({ ...options, IncomingMessage: CountedMessage }, listener);
  parseInParts(server, {
    takePieces() {
      const taken = pieces;
      pieces = 0;
      return taken;
    },
  });
  return server;
}
