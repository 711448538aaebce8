import { WebSocket } from 'ws';
import type { RawData } from 'ws';
import { reportFailure, type FailureReport } from '../../models/failure-report.js';
import { parseJson, rejectedUpgrade } from '../../models/http-api.js';
import type { ProviderFault } from './caller-transcription.js';
import { parseMessage } from './protocol.js';
import type { ClientEvent, FullSessionSettings, ServerEvent } from './protocol.js';

export interface ConnectionTimings {
  /** Timeout from dialing to the open socket, in ms. */
  connectMs: number;
  /** Timeout from the open socket to the confirmed session settings, in ms. */
  sessionMs: number;
  /** Ping interval in ms. The connection counts as lost if nothing arrives between two pings. */
  pingEveryMs: number;
}

export const CONNECTION_TIMINGS: ConnectionTimings = { connectMs: 5_000, sessionMs: 5_000, pingEveryMs: 10_000 };

export interface ConnectionHandlers {
  /** Called when the provider has confirmed the session settings. */
  onReady(): void;
  onEvent(event: ServerEvent): void;
  /** Called when the connection has failed; at most once, and never after `close`. */
  onLost(why: string, report?: FailureReport): void;
  /** Called instead of `onLost` if the provider rejected the session settings. */
  onRejected(why: string, error: ProviderFault, report: FailureReport): void;
}

export interface ProviderConnection {
  /** Drops the event if the socket is not open. */
  send(event: ClientEvent): void;
  close(): void;
  /** Makes a report of an error that the provider sent. */
  reportOf(error: object): FailureReport;
}

const MAX_MESSAGE_BYTES = 8 * 1_024 * 1_024;
/** Limit of unsent data; above it, the provider counts as lost. */
const MAX_UNSENT_BYTES = 1_024 * 1_024;
/** After this many invalid messages in a row, the provider counts as lost. */
const MAX_GARBAGE = 3;
const CLOSE_WITHIN_MS = 1_000;
const SESSION_EVENT = 'session';
/** How many of the last characters sent are searched for words that an error quotes. */
const MAX_SENT_CHARACTERS = 20_000;

type Reason = Omit<Parameters<typeof reportFailure>[0], 'provider'>;

/**
 * Opens one connection to the provider. Sends the session settings first; the connection is ready once the provider has
 * confirmed them.
 */
export function openProviderConnection(p: {
  url: string;
  apiKey: string;
  session: FullSessionSettings;
  handlers: ConnectionHandlers;
  timings?: Partial<ConnectionTimings>;
}): ProviderConnection {
  const { handlers } = p;
  const timings = { ...CONNECTION_TIMINGS, ...p.timings };
  let over = false;
  let ready = false;
  let garbage = 0;
  let alive = true;
  let requestId: string | undefined;
  let sentText = '';
  const options = {
    headers: { authorization: `Bearer ${p.apiKey}` },
    handshakeTimeout: timings.connectMs,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    closeTimeout: CLOSE_WITHIN_MS,
  };
  const socket = new WebSocket(p.url, options);
  let settling: NodeJS.Timeout | undefined;
  const pinging = setInterval(ping, timings.pingEveryMs);

  function finish(): void {
    over = true;
    clearTimeout(settling);
    clearInterval(pinging);
  }

  function drop(): void {
    finish();
    socket.terminate();
  }

  function lose(why: string, reason: Reason = {}): void {
    if (over) return;
    drop();
    handlers.onLost(why, report(reason));
  }

  function report(reason: Reason): FailureReport {
    const sent = JSON.stringify(p.session) + sentText;
    const made = reportFailure({ provider: 'openai', sent, secrets: [p.apiKey], ...reason });
    return requestId === undefined ? made : { requestId, ...made };
  }

  function ping(): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!alive) return lose('no response to a ping');
    alive = false;
    socket.ping();
  }

  function send(event: ClientEvent): void {
    if (over || socket.readyState !== WebSocket.OPEN) return;
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) return lose('the provider does not read the data sent to it');
    const text = JSON.stringify(event);
    if (event.type === 'conversation.item.create') sentText = (sentText + text).slice(-MAX_SENT_CHARACTERS);
    socket.send(text);
  }

  function take(data: RawData, isBinary: boolean): void {
    alive = true;
    const message = isBinary ? ({ kind: 'garbage' } as const) : parseMessage(asText(data));
    if (message.kind === 'garbage') {
      garbage += 1;
      if (garbage >= MAX_GARBAGE) lose('the provider sent invalid messages');
      return;
    }
    garbage = 0;
    if (message.kind === 'ignored') return;
    const { event } = message;
    if (event.type === 'session.created') requestId ??= sessionIdIn(asText(data));
    if (!ready && event.type === 'session.updated') {
      ready = true;
      clearTimeout(settling);
      return handlers.onReady();
    }
    if (!ready && event.type === 'error' && [SESSION_EVENT, null, undefined].includes(event.error.event_id)) {
      const why = `the provider rejected the session settings: ${event.error.code ?? event.error.type}`;
      drop();
      return handlers.onRejected(why, event.error, report({ body: event.error }));
    }
    handlers.onEvent(event);
  }

  socket.on('open', () => {
    if (over) return;
    settling = setTimeout(() => lose('the provider did not confirm the session'), timings.sessionMs);
    send({ type: 'session.update', event_id: SESSION_EVENT, session: p.session });
  });
  socket.on('message', (data, isBinary) => {
    if (!over) take(data, isBinary);
  });
  socket.on('pong', () => (alive = true));
  socket.on('upgrade', ({ headers }) => (requestId = reportFailure({ provider: '', headers }).requestId));
  socket.on('unexpected-response', (request, response) => {
    const lost = (reason: Reason) => lose(`the provider rejected the connection with status ${reason.status}`, reason);
    void rejectedUpgrade(request, response).then(lost);
  });
  // The message has the address, and customers read the reason in the timeline of the call.
  socket.on('error', (error: NodeJS.ErrnoException) => lose(`the connection failed: ${error.code ?? error.name}`));
  socket.on('close', (code, reason) =>
    lose(`the provider closed the connection with code ${code}`, { status: code, body: reason.toString('utf8') }),
  );

  return {
    send,
    close() {
      if (over) return;
      finish();
      socket.close(1000);
    },
    reportOf: (error) => report({ body: error }),
  };
}

/** The session's id, which the provider's support asks for. The SDK's types lack it, the published examples have it. */
function sessionIdIn(text: string): string | undefined {
  const { session } = Object(parseJson(text)) as { session?: unknown };
  const { id } = Object(session) as { id?: unknown };
  return reportFailure({ provider: '', body: { request_id: id } }).requestId;
}

function asText(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString('utf8');
}
