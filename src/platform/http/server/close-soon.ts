import type { Duplex } from 'node:stream';

/** Time for a rejected client to read the response. */
const CLOSE_WITHIN_MS = 1_000;

/** Closes a connection after its last response. A client that keeps its side open would keep it, and what its request has taken. */
export function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), CLOSE_WITHIN_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}
