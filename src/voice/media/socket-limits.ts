import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { parseFramesInParts } from './parse-frames-in-parts.js';

/** Allowed messages per second. A real carrier sends 50 audio frames and a few marks, or a burst after a delay. */
const MESSAGES_PER_SECOND = 300;
const MESSAGE_BURST = 3_000;
/** Messages ignored after we closed the socket, because they may have been in transit. More terminate the socket. */
const MAX_IGNORED = 200;

/** Bytes that are parsed at once: at most 21 frames while they are limited, and several messages of audio afterwards. */
const PARSED_AT_ONCE = { limited: 128, unlimited: 4_096 };

/** Limits what is read from a socket. */
export function createReadLimits(socket: WebSocket) {
  let ignored = 0;
  let tokens = MESSAGE_BURST;
  let tokensAt = performance.now();
  return {
    /** Whether to process incoming messages; terminates a closing socket that keeps sending. */
    isRead(): boolean {
      if (socket.readyState === socket.OPEN) return true;
      ignored += 1;
      if (ignored > MAX_IGNORED) socket.terminate();
      return false;
    },

    /** Counts one message. @returns false if the rate limit is exceeded */
    take(): boolean {
      const now = performance.now();
      tokens = Math.min(MESSAGE_BURST, tokens + ((now - tokensAt) / 1_000) * MESSAGES_PER_SECOND) - 1;
      tokensAt = now;
      return tokens >= 0;
    },
  };
}

/**
 * Terminates a socket that sends more frames than allowed, of any kind: each one costs time, a pong and an empty message
 * too, and a closing socket is still read.
 * @param raw the connection of a socket that was accepted just now
 * @param most the number of frames allowed
 * @returns the function that lifts the limit
 */
export function limitFrames(socket: WebSocket, raw: Duplex, most: number): () => void {
  const kinds = ['message', 'ping', 'pong'] as const;
  let left = most;
  let bytesAtOnce = PARSED_AT_ONCE.limited;
  parseFramesInParts(raw, () => bytesAtOnce);
  const count = () => {
    left -= 1;
    if (left < 0) socket.terminate();
  };
  for (const kind of kinds) socket.on(kind, count);
  return () => {
    bytesAtOnce = PARSED_AT_ONCE.unlimited;
    for (const kind of kinds) socket.off(kind, count);
  };
}

/** Pings a socket until it closes. @param onSilent called when nothing arrived since the last ping */
export function watchLiveness(socket: WebSocket, pingEveryMs: number, onSilent: () => void) {
  let alive = true;

  function loseSilent(): void {
    if (!alive) onSilent();
  }

  const pinging = setInterval(() => {
    if (!alive) {
      // After the process was blocked, timers run before pending input is read, so check again after the input.
      setImmediate(loseSilent);
      return;
    }
    alive = false;
    if (socket.readyState === socket.OPEN) socket.ping();
  }, pingEveryMs);
  const heard = () => {
    alive = true;
  };
  socket.on('pong', heard);
  socket.on('close', () => clearInterval(pinging));
  return { heard };
}
