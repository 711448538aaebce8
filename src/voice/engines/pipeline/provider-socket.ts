import { WebSocket } from 'ws';
import { reportFailure, type FailureReport } from '../../models/failure-report.js';
import { rejectedUpgrade, retryAfterOf } from '../../models/http-api.js';
import { ProviderError, type PipelinePart } from './ports.js';

const CONNECT_WITHIN_MS = 5_000;
/** Maximum size of a provider's message. Real messages are far smaller. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Limit of unsent data: 30 s of audio. Above it, the provider counts as lost. */
const MAX_UNSENT_BYTES = 240_000;

export interface ProviderSocket {
  /** Sends now, or when the socket opens: bytes as a binary message, objects as JSON text. */
  send(data: Uint8Array | object): void;
  /** Closes without calling `onLost`. */
  close(finalMessage?: object): void;
  /** Makes an error of this stream. */
  errorOf(fault: string): ProviderError;
  /** Makes the error of a failure that the provider reports in a message. */
  reportedError(message: Record<string, unknown>): ProviderError;
}

type Reason = Omit<Parameters<typeof reportFailure>[0], 'provider'>;

/**
 * A WebSocket to a provider whose messages are JSON objects. Calls `onLost` at most once, on any failure: a rejected
 * connection, an unexpected close, or a message that is not a JSON object.
 */
export function openProviderSocket(p: {
  part: PipelinePart;
  /** The provider's name in the settings. */
  provider: string;
  /** The key in the headers, which no report may contain. */
  apiKey: string;
  /** The texts of the call that were sent, which the provider may quote. */
  sentText?(): string;
  url: string;
  headers: Record<string, string>;
  onMessage(message: Record<string, unknown>): void;
  /** Called when the provider closes normally (code 1000). If absent, a normal close counts as lost. */
  onClosed?(): void;
  /** @param isCut whether the open connection broke or was closed, without another fault of the provider */
  onLost(error: ProviderError, isCut: boolean): void;
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
  let wasOpen = false;
  let requestId: string | undefined;

  function lose(fault: string, given: Reason = {}, retryAfterMs?: number, isCut = false): void {
    if (over) return;
    over = true;
    socket.terminate();
    p.onLost(new ProviderError(p.part, fault, retryAfterMs, false, report(given)), isCut);
  }

  function report(given: Reason): FailureReport {
    const { provider } = p;
    const made = reportFailure({ provider, sent: p.sentText?.() ?? '', secrets: [p.apiKey], ...given });
    return requestId === undefined ? made : { ...made, requestId };
  }

  socket.on('open', () => {
    wasOpen = true;
    for (const data of waiting) socket.send(data);
    waiting = [];
  });
  socket.on('message', (data: Buffer, isBinary) => {
    if (over) return;
    const message = isBinary ? undefined : objectIn(data.toString('utf8'));
    if (message === undefined) return lose('sent a message that is not a JSON object');
    requestId ??= reportFailure({ provider: p.provider, body: message }).requestId;
    return p.onMessage(message);
  });
  socket.on('upgrade', ({ headers }) => (requestId = reportFailure({ provider: p.provider, headers }).requestId));
  socket.on('unexpected-response', (request, response) => {
    void rejectedUpgrade(request, response).then((reason) => {
      const retryAfterMs = retryAfterOf({ get: (name) => String(reason.headers[name] ?? '') || null });
      lose(`rejected the connection with status ${reason.status}`, reason, retryAfterMs);
    });
  });
  socket.on('error', (error) => lose(`failed to respond: ${codeOf(error)}`, {}, undefined, wasOpen));
  socket.on('close', (code, reason) => {
    if (over) return;
    if (code !== 1000 || p.onClosed === undefined) {
      const given = { status: code, body: reason.toString('utf8') };
      return lose(`closed the connection with code ${code}`, given, undefined, wasOpen);
    }
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
    errorOf: (fault) => new ProviderError(p.part, fault, undefined, false, report({})),
    reportedError(message) {
      const reported = report({ body: message });
      return new ProviderError(p.part, `reported ${reported.code ?? 'an error'}`, undefined, false, reported);
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
