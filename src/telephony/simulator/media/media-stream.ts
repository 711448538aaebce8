import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { sign } from '../../twilio/signature.js';
import { addLog, newSid, noteError, type CallRecord, type StreamLog } from '../call-record.js';
import type { StreamRequest } from '../instructions/verbs.js';
import type { Impairment } from './impairment.js';
import type { Line } from './line.js';
import type { BreakOff, StreamFaults } from '../scenario.js';
import { createStreamWire, receiveMessage } from './stream-wire.js';

const CONNECT_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 2_000;

export interface StreamDeps {
  call: CallRecord;
  line: Line;
  faults: StreamFaults;
  impairment: Impairment;
  /** Scripted waits are multiplied by it. */
  timeScale: number;
  signal: AbortSignal;
}

/**
 * A bidirectional media stream to the customer's server, the simulated carrier being the websocket's client.
 * @param signal aborts the stream because the call ended or was redirected: `stop` is sent, then the socket closed
 * @returns when the stream is over, whoever ended it; failures are noted in the call's record
 */
export async function runMediaStream(deps: StreamDeps, request: StreamRequest): Promise<void> {
  const { call, line, signal } = deps;
  const fault = faultOfUrl(request.url);
  if (fault !== undefined) {
    noteError(call, fault.code, fault.message);
    return;
  }
  if (signal.aborted) return;
  const log: StreamLog = {
    streamSid: newSid('MZ'),
    url: request.url,
    at: new Date().toISOString(),
    framesSent: 0,
    mediaReceived: 0,
    bytesReceived: 0,
    framesDiscarded: 0,
    framesLost: 0,
    clears: 0,
    marks: [],
  };
  addLog(call.streams, log);

  await new Promise<void>((resolve) => {
    const socket = new WebSocket(request.url, {
      headers: { 'x-twilio-signature': sign({ authToken: call.account.authToken, url: request.url, params: {} }) },
      handshakeTimeout: CONNECT_WITHIN_MS,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: 1_048_576,
    });
    const { customParameters } = request;
    const wire = createStreamWire({ socket, call, log, customParameters, impairment: deps.impairment });
    let connection: Socket | undefined;
    let detach = () => {};
    let lastResort: NodeJS.Timeout | undefined;
    let breaking: NodeJS.Timeout | undefined;
    let brokenOff = false;

    const abort = () => {
      detach();
      clearTimeout(breaking);
      log.end ??= 'call over';
      if (brokenOff || socket.readyState !== WebSocket.OPEN) {
        socket.terminate();
        resolve();
        return;
      }
      wire.stop();
      socket.close(1_000);
      lastResort = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS);
    };
    signal.addEventListener('abort', abort, { once: true });

    const breakOff = ({ how, goOnAfterSeconds }: BreakOff) => {
      brokenOff = true;
      detach();
      if (how === 'reset') {
        log.end = 'reset by the carrier';
        reset(connection);
      } else {
        log.end = 'fell silent';
        // Nothing is read any more, so no ping is answered. The connection stays as it is until the call is over.
        socket.pause();
      }
      breaking = setTimeout(resolve, goOnAfterSeconds * 1_000 * deps.timeScale);
    };

    socket.on('upgrade', (response) => {
      connection = response.socket;
    });
    socket.on('open', () => {
      wire.start();
      detach = line.attach(wire);
      const plan = deps.faults.breakOff;
      if (plan === undefined || call.streams.length > plan.times) return;
      breaking = setTimeout(() => breakOff(plan), plan.afterSeconds * 1_000 * deps.timeScale);
    });
    socket.on('message', (data, isBinary) => {
      if (isBinary || !receiveMessage(line, log, data as Buffer)) {
        noteError(call, 31924, 'The customer sent a message that is not part of the protocol.');
        log.end ??= 'protocol error';
        socket.close(1_002);
      }
    });
    socket.on('unexpected-response', (_, response) => {
      noteError(call, 31920, `The upgrade was answered with ${response.statusCode ?? 0}.`);
      log.end = `refused with ${response.statusCode ?? 0}`;
      response.resume();
      socket.terminate();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (log.end !== undefined) return;
      noteError(
        call,
        error.code === 'ECONNREFUSED' ? 31902 : 31901,
        `The stream broke: ${error.code ?? error.message}`,
      );
      log.end = error.code ?? 'error';
    });
    socket.on('close', (code) => {
      // A stream that we broke off is over when its time has come.
      if (brokenOff) return;
      detach();
      clearTimeout(lastResort);
      clearTimeout(breaking);
      log.end ??= `closed by the customer (${code})`;
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

function reset(connection: Socket | undefined): void {
  // The kernel's reset is for plain sockets only.
  if (connection === undefined || connection instanceof TLSSocket) connection?.destroy();
  else connection.resetAndDestroy();
}

/**
 * The carrier streams to `wss` only and sends no query string. Plain `ws` is taken on loopback, and to a bare name, which
 * only a container network resolves.
 */
function faultOfUrl(text: string): { code: number; message: string } | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { code: 31920, message: 'The stream URL is not a URL.' };
  }
  if (url.search !== '') return { code: 31920, message: 'A stream URL must not have a query string.' };
  const nearby = /^(127\.\d+\.\d+\.\d+|\[::1\]|[a-z][a-z0-9-]*)$/.test(url.hostname);
  if (url.protocol === 'wss:' || (url.protocol === 'ws:' && nearby)) return undefined;
  return { code: 31922, message: 'The scheme of a stream URL must be wss.' };
}
