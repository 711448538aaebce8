import { WebSocket } from 'ws';
import { sign } from '../twilio/signature.js';
import { addLog, newSid, noteError, type CallRecord, type StreamLog } from './call-record.js';
import type { Line } from './line.js';
import { FRAME_MS } from './ticker.js';

const CONNECT_WITHIN_MS = 5_000;
/** More than this unsent means that the customer's server does not keep up: audio is discarded, as the carrier does. */
const MAX_UNSENT_BYTES = 65_536;
const CLOSE_WITHIN_MS = 2_000;

export interface StreamRequest {
  url: string;
  customParameters: Record<string, string>;
}

/**
 * A bidirectional media stream to the customer's server, the simulated carrier being the websocket's client.
 * @param signal aborts the stream because the call ended or was redirected: `stop` is sent, then the socket closed
 * @returns when the stream is over, whoever ended it; failures are noted in the call's record
 */
export async function runMediaStream(
  deps: { call: CallRecord; line: Line; signal: AbortSignal },
  request: StreamRequest,
): Promise<void> {
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
    const wire = createWire(socket, call, log, request.customParameters);
    let detach = () => {};
    let lastResort: NodeJS.Timeout | undefined;

    const abort = () => {
      detach();
      log.end ??= 'call over';
      if (socket.readyState !== WebSocket.OPEN) {
        socket.terminate();
        return;
      }
      wire.stop();
      socket.close(1_000);
      lastResort = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS);
    };
    signal.addEventListener('abort', abort, { once: true });

    socket.on('open', () => {
      wire.start();
      detach = line.attach(wire);
    });
    socket.on('message', (data, isBinary) => {
      if (isBinary || !receive(line, log, data as Buffer)) {
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
      detach();
      clearTimeout(lastResort);
      signal.removeEventListener('abort', abort);
      log.end ??= `closed by the customer (${code})`;
      resolve();
    });
  });
}

/** The carrier's messages, with their running numbers. All numbers are strings on the wire, but the audio format's. */
function createWire(socket: WebSocket, call: CallRecord, log: StreamLog, customParameters: Record<string, string>) {
  const { streamSid } = log;
  let sequence = 0;
  let chunk = 0;
  const send = (message: Record<string, unknown>) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const next = () => String(++sequence);
  return {
    start() {
      send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
      send({
        event: 'start',
        sequenceNumber: next(),
        start: {
          accountSid: call.account.accountSid,
          streamSid,
          callSid: call.sid,
          tracks: ['inbound'],
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8_000, channels: 1 },
          customParameters,
        },
        streamSid,
      });
    },
    frame(frame: Uint8Array) {
      // Time goes on whether or not the customer takes the audio.
      const number = ++chunk;
      if (socket.bufferedAmount > MAX_UNSENT_BYTES) {
        if (log.framesDiscarded++ === 0) noteError(call, 31930, 'The customer does not keep up; audio is discarded.');
        return;
      }
      log.framesSent++;
      send({
        event: 'media',
        sequenceNumber: next(),
        media: {
          track: 'inbound',
          chunk: String(number),
          timestamp: String((number - 1) * FRAME_MS),
          payload: Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64'),
        },
        streamSid,
      });
    },
    mark(name: string) {
      addLog(log.marks, { name, at: new Date().toISOString() });
      send({ event: 'mark', sequenceNumber: next(), streamSid, mark: { name } });
    },
    stop() {
      send({
        event: 'stop',
        sequenceNumber: next(),
        stop: { accountSid: call.account.accountSid, callSid: call.sid },
        streamSid,
      });
    },
  };
}

/** Takes one message of the customer. @returns false when it is none of the protocol's */
function receive(line: Line, log: StreamLog, data: Buffer): boolean {
  let message: {
    event?: unknown;
    streamSid?: unknown;
    media?: { payload?: unknown };
    mark?: { name?: unknown };
  } | null;
  try {
    message = JSON.parse(data.toString('utf8')) as typeof message;
  } catch {
    return false;
  }
  if (message === null || message.streamSid !== log.streamSid) return false;
  const { event, media, mark } = message;
  if (event === 'media' && typeof media?.payload === 'string') {
    const audio = Buffer.from(media.payload, 'base64');
    log.mediaReceived++;
    log.bytesReceived += audio.length;
    if (audio.length > 0 && !line.play(audio)) log.framesDiscarded++;
    return true;
  }
  if (event === 'mark' && typeof mark?.name === 'string') {
    line.mark(mark.name);
    return true;
  }
  if (event === 'clear') {
    log.clears++;
    line.clear();
    return true;
  }
  return false;
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
