import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface Reading {
  chunk: Buffer;
  /** All bytes received so far, with those of this chunk. */
  totalBytes: number;
}

/**
 * A TCP connection whose bytes pass through `onRead` before TLS reads them. TLS reads a `Socket` below JavaScript, so
 * nothing else can come between the two.
 */
export class CountedSocket extends Duplex {
  #totalBytes = 0;

  /** @param onRead calls `pass` with what TLS may read. If it throws, the connection ends with this error. */
  constructor(
    private readonly tcp: Socket,
    onRead: (reading: Reading) => void,
  ) {
    super();
    tcp.on('data', (chunk: Buffer) => {
      this.#totalBytes += chunk.length;
      this.endIfThrown(() => onRead({ chunk, totalBytes: this.#totalBytes }));
    });
    tcp.once('end', () => this.push(null));
    tcp.once('error', (error) => this.destroy(error));
    tcp.once('close', () => this.destroy());
  }

  /** Lets TLS read some bytes. It works on them before this returns. */
  pass(bytes: Buffer): void {
    if (bytes.length > 0 && !this.push(bytes)) this.tcp.pause();
  }

  endIfThrown(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.destroy(error as Error);
    }
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
