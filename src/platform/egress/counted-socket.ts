import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface Reading {
  /** All bytes received so far, with those of this chunk. */
  totalBytes: number;
  /** Passes the chunk on. Its reader, which may be TLS, works on it before this returns. */
  pass: () => void;
}

/**
 * A TCP connection that lets `onRead` see each chunk before its reader does. TLS reads a `Socket` below JavaScript, so
 * nothing else can come between the two.
 * @param onRead passes the chunk on, or throws; the connection then ends with this error
 */
export class CountedSocket extends Duplex {
  #totalBytes = 0;

  constructor(
    private readonly tcp: Socket,
    onRead: (reading: Reading) => void,
  ) {
    super();
    tcp.on('data', (chunk: Buffer) => {
      this.#totalBytes += chunk.length;
      const pass = () => {
        if (!this.push(chunk)) tcp.pause();
      };
      try {
        onRead({ totalBytes: this.#totalBytes, pass });
      } catch (error) {
        this.destroy(error as Error);
      }
    });
    tcp.once('end', () => this.push(null));
    tcp.once('error', (error) => this.destroy(error));
    tcp.once('close', () => this.destroy());
  }

  override _read(): void {
    this.tcp.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.tcp.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.tcp.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.tcp.destroy();
    done(error);
  }
}
