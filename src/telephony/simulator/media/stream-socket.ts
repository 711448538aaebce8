import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { sign } from '../../twilio/signature.js';
import type { CallRecord, StreamLog } from '../call-record.js';
import type { StreamRequest } from '../instructions/verbs.js';
import type { Impairment } from './impairment.js';
import type { Line } from './line.js';
import type { SimulatedStreamEvent } from './stream-progress.js';
import { createStreamWire, receiveMessage } from './stream-wire.js';

const CONNECT_WITHIN_MS = 5_000;

/** The websocket of one media stream, with the carrier as its client. */
export interface StreamSocket {
  isOpen(): boolean;
  /** Sends `connected` and `start`, and attaches the stream to the line. */
  start(): void;
  detach(): void;
  sendStop(): void;
  close(code: number): void;
  terminate(): void;
  /** Resets the TCP connection without closing the websocket. */
  reset(): void;
  /** Stops reading. */
  pause(): void;
}

/**
 * Connects to the customer's server.
 * @param onEvent receives the events of the socket
 */
export function openStreamSocket(
  deps: { call: CallRecord; line: Line; impairment: Impairment; log: StreamLog; request: StreamRequest },
  onEvent: (event: SimulatedStreamEvent) => void,
): StreamSocket {
  const { call, line, log, request } = deps;
  const socket = connect(call, request.url);
  const { customParameters } = request;
  const wire = createStreamWire({ socket, call, log, customParameters, impairment: deps.impairment });
  let connection: Socket | undefined;
  let detach = () => {};

  socket.on('upgrade', (response) => {
    connection = response.socket;
  });
  socket.on('open', () => onEvent({ type: 'opened' }));
  socket.on('message', (data, isBinary) => {
    if (isBinary || !receiveMessage(line, log, data as Buffer)) onEvent({ type: 'messageRejected' });
  });
  socket.on('unexpected-response', (_, response) => {
    response.resume();
    onEvent({ type: 'upgradeRejected', status: response.statusCode ?? 0 });
  });
  socket.on('error', ({ code, message }: NodeJS.ErrnoException) => onEvent({ type: 'failed', code, message }));
  socket.on('close', (code) => onEvent({ type: 'closed', code }));

  return {
    isOpen: () => socket.readyState === WebSocket.OPEN,
    start() {
      wire.start();
      detach = line.attach(wire);
    },
    detach: () => detach(),
    sendStop: () => wire.stop(),
    close: (code) => socket.close(code),
    terminate: () => socket.terminate(),
    reset: () => reset(connection),
    pause: () => socket.pause(),
  };
}

function connect(call: CallRecord, url: string): WebSocket {
  return new WebSocket(url, {
    headers: { 'x-twilio-signature': sign({ authToken: call.account.authToken, url, params: {} }) },
    handshakeTimeout: CONNECT_WITHIN_MS,
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: 1_048_576,
  });
}

function reset(connection: Socket | undefined): void {
  // Only a plain TCP socket can be reset; a TLS socket is destroyed instead.
  if (connection === undefined || connection instanceof TLSSocket) connection?.destroy();
  else connection.resetAndDestroy();
}
