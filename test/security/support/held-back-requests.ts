import { connect, type Socket } from 'node:net';
import { eventually } from '../../support/http/harness.js';

/** A request on a separate connection whose last bytes have not been sent yet. */
export interface HeldBack {
  /** Returns the response so far. */
  answer(): string;
  isClosed(): boolean;
  /** Sends the last bytes. @returns the status of the response */
  finish(): Promise<number>;
  drop(): void;
}

/** Sends `count` requests, each without its last 10 bytes. */
export function holdBack(port: number, count: number, bytesOf: (index: number) => Buffer): Promise<HeldBack[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => holdBackOne(port, bytesOf(index))));
}

function holdBackOne(port: number, bytes: Buffer): Promise<HeldBack> {
  let answer = '';
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes.subarray(0, -10), () => resolve(held)));
    const held: HeldBack = {
      answer: () => answer,
      isClosed: () => socket.destroyed,
      async finish() {
        socket.write(bytes.subarray(-10));
        return eventually(async () => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0));
      },
      drop: () => socket.destroy(),
    };
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(held));
  });
}

/**
 * Returns whether a request was rejected (503, or TwiML with <Reject>) and its connection closed before the request was
 * complete.
 */
export function wasEvicted(held: HeldBack): boolean {
  const rejection = /^HTTP\/1\.1 (503 [^]*\r\nConnection: close\r\n|200 [^]*\r\nConnection: close\r\n[^]*<Reject )/i;
  return held.isClosed() && rejection.test(held.answer());
}
