import { WebSocket } from 'ws';
import { ProviderError, type ProviderPart } from './ports.js';

const CONNECT_WITHIN_MS = 5_000;
/** Maximum size of a provider's message. Real messages are far smaller. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Limit of unsent data: 30 s of audio. Above it, the provider counts as lost. */
const MAX_UNSENT_BYTES = 240_000;
const MAX_RETRY_AFTER_MS = 2_000;

export interface ProviderSocket {
  /** Sends now, or when the socket opens: bytes as a binary message, objects as JSON text. */
  send(data: Uint8Array | object): void;
  /** Closes without calling `onLost`. */
  close(finalMessage?: object): void;
}

/**
 * A WebSocket to a provider whose messages are JSON objects. Calls `onLost` at most once, on any failure: a rejected
 * connection, an unexpected close, or a message that is not a JSON object.
 */
export function openProviderSocket(p: {
  part: ProviderPart;
  url: string;
  headers: Record<string, string>;
  onMessage(message: Record<string, unknown>): void;
  /** Called when the provider closes normally (code 1000). If absent, a normal close counts as lost. */
  onClosed?(): void;
  onLost(error: ProviderError): void;
}): ProviderSocket {
  const socket = new WebSocket(p.url, {
    headers: p.headers,
    handshakeTimeout: CONNECT_WITHIN_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  let waiting: (Uint8Array | string)[] = [];
  let waitingBytes = 0;
  let over = false;

  function lose(message: string, retryAfterMs?: number): void {
    if (over) return;
    over = true;
    socket.terminate();
    p.onLost(new ProviderError(p.part, message, retryAfterMs));
  }

  socket.on('open', () => {
    for (const data of waiting) socket.send(data);
    waiting = [];
  });
  socket.on('message', (data: Buffer, isBinary) => {
    if (over) return;
    const message = isBinary ? undefined : objectIn(data.toString('utf8'));
    if (message === undefined) lose('sent a message that is not a JSON object');
    else p.onMessage(message);
  });
  socket.on('unexpected-response', (request, response) => {
    const seconds = Number(response.headers['retry-after']);
    const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : undefined;
    response.resume();
    request.destroy();
    lose(`rejected the connection with status ${response.statusCode}`, retryAfterMs);
  });
  socket.on('error', (error) => lose(`failed to respond: ${codeOf(error)}`));
  socket.on('close', (code) => {
    if (over) return;
    if (code !== 1000 || p.onClosed === undefined) return lose(`closed the connection with code ${code}`);
    over = true;
    return p.onClosed();
  });

  return {
    send(data) {
      if (over) return;
      const bytes = data instanceof Uint8Array ? data : JSON.stringify(data);
      if (socket.readyState === WebSocket.OPEN) socket.send(bytes);
      else {
        waiting.push(bytes);
        waitingBytes += bytes.length;
      }
      if (Math.max(waitingBytes, socket.bufferedAmount) > MAX_UNSENT_BYTES) lose('does not read the data sent to it');
    },
    close(finalMessage) {
      if (over) return;
      over = true;
      if (finalMessage !== undefined && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(finalMessage));
      if (socket.readyState !== WebSocket.OPEN) return socket.terminate();
      // Do not wait for the close handshake, but give it one second before the connection is cut.
      socket.close(1000);
      return void setTimeout(() => socket.terminate(), 1_000).unref();
    },
  };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the code or name of an error. Its message is not used, because messages of libraries may contain URLs with
 * keys.
 */
function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.name;
}
