import { WebSocket } from 'ws';
import { FRAME_MS } from '../../../voice/audio/frame.js';
import { addLog, logCallError, type CallRecord, type StreamLog } from '../call-record.js';
import type { Impairment } from './impairment.js';
import type { Line, LineListener } from './line.js';

/** With more unsent bytes than this, the customer's server is too slow. Then audio is discarded, as Twilio does. */
const MAX_UNSENT_BYTES = 65_536;

/** Sends the carrier's messages of one media stream. */
export interface StreamWire extends LineListener {
  start(): void;
  /** Sends `stop` after all delayed messages. */
  stop(): void;
}

/** Creates the carrier's messages and numbers them. All numbers are strings on the wire, except in the audio format. */
export function createStreamWire(deps: {
  socket: WebSocket;
  call: CallRecord;
  log: StreamLog;
  customParameters: Record<string, string>;
  impairment: Impairment;
}): StreamWire {
  const { socket, call, log, customParameters, impairment } = deps;
  const { streamSid } = log;
  const late = createDelayLine((text) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  });
  let sequence = 0;
  let chunk = 0;
  const lastFrameMs = () => Math.max(0, chunk - 1) * FRAME_MS;
  const send = (message: Record<string, unknown>) =>
    late.send(JSON.stringify(message), impairment.delayMs(lastFrameMs()));
  const next = () => String(++sequence);
  return {
    start() {
      send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
      send({
        event: 'start',
        sequenceNumber: next(),
        start: {
          accountSid: call.account.carrierAccountId,
          streamSid,
          callSid: call.sid,
          tracks: ['inbound'],
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8_000, channels: 1 },
          customParameters,
        },
        streamSid,
      });
    },
    frame(frame) {
      // Count lost, discarded and omitted frames, too, because the audio timestamps continue.
      const number = ++chunk;
      if (impairment.isFrameOmitted(frame)) {
        log.framesOmitted++;
        return;
      }
      if (impairment.isFrameLost()) {
        log.framesLost++;
        return;
      }
      if (socket.bufferedAmount > MAX_UNSENT_BYTES) {
        if (log.framesDiscarded++ === 0)
          logCallError(call, 31930, 'The customer reads too slowly; audio is discarded.');
        return;
      }
      log.framesSent++;
      send({
        event: 'media',
        sequenceNumber: next(),
        media: {
          track: 'inbound',
          chunk: String(number),
          timestamp: String(impairment.timestampOf(lastFrameMs())),
          payload: Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64'),
        },
        streamSid,
      });
    },
    digit(digit) {
      send({ event: 'dtmf', streamSid, sequenceNumber: next(), dtmf: { track: 'inbound_track', digit } });
    },
    mark(name) {
      addLog(log.marks, { name, at: new Date().toISOString() });
      send({ event: 'mark', sequenceNumber: next(), streamSid, mark: { name } });
    },
    stop() {
      late.flush();
      send({
        event: 'stop',
        sequenceNumber: next(),
        stop: { accountSid: call.account.carrierAccountId, callSid: call.sid },
        streamSid,
      });
      late.flush();
    },
  };
}

/** Delays each message by a separate time without changing their order. */
function createDelayLine(send: (text: string) => void) {
  const waiting: string[] = [];
  let lastDueAt = 0;

  function sendNext(): void {
    const text = waiting.shift();
    if (text !== undefined) send(text);
  }

  return {
    send(text: string, delayMs: number): void {
      const now = performance.now();
      lastDueAt = Math.max(lastDueAt, now + delayMs);
      waiting.push(text);
      if (lastDueAt <= now && waiting.length === 1) sendNext();
      else setTimeout(sendNext, lastDueAt - now);
    },
    flush(): void {
      while (waiting.length > 0) sendNext();
    },
  };
}

/**
 * Handles one message that the customer's server sent over the media stream.
 * @returns false when the message violates the protocol
 */
export function receiveMessage(line: Line, log: StreamLog, data: Buffer): boolean {
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
