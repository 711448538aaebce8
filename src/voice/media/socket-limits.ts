import type { WebSocket } from 'ws';

/** Messages a second that an honest carrier stays far below (50 of audio, some marks), and the burst it may catch up with. */
const MESSAGES_PER_SECOND = 300;
const MESSAGE_BURST = 3_000;
/** Messages that may have been on their way when we closed; a far end that sends more goes on regardless. */
const MAX_IGNORED = 200;

/** What is still read of a socket. */
export function createReadLimits(socket: WebSocket) {
  let ignored = 0;
  let tokens = MESSAGE_BURST;
  let tokensAt = performance.now();
  return {
    /** Whether what comes is still read; a closing socket is destroyed when too much comes. */
    isRead(): boolean {
      if (socket.readyState === socket.OPEN) return true;
      ignored += 1;
      if (ignored > MAX_IGNORED) socket.terminate();
      return false;
    },

    /** Counts one message. @returns whether there was room for it */
    take(): boolean {
      const now = performance.now();
      tokens = Math.min(MESSAGE_BURST, tokens + ((now - tokensAt) / 1_000) * MESSAGES_PER_SECOND) - 1;
      tokensAt = now;
      return tokens >= 0;
    },
  };
}

/** Pings a socket until it closes. @param onSilent nothing came since the last ping */
export function watchLiveness(socket: WebSocket, pingEveryMs: number, onSilent: () => void) {
  let alive = true;

  function loseSilent(): void {
    if (!alive) onSilent();
  }

  const pinging = setInterval(() => {
    if (!alive) {
      // A process that stood still meets its timers before it reads what has come meanwhile.
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
