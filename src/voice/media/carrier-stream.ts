import type { WebSocket, RawData } from 'ws';
import type { PlaybackLine } from '../session/playback.js';
import { createReadLimits, watchLiveness } from './socket-limits.js';
import { ProtocolViolation, type MediaCodec, type MediaEvent } from '../../telephony/media.js';

export interface StreamTimings {
  /** Timeout for the carrier's `start` message. */
  startWithinMs: number;
  pingEveryMs: number;
}

/** With these timings, a dead connection is noticed within 8 s, twice the interval of the pings. */
export const STREAM_TIMINGS: StreamTimings = { startWithinMs: 5_000, pingEveryMs: 4_000 };

/** How the carrier's side ended: `stop` message, orderly close, lost connection, or protocol violation. */
export type StreamEnd = 'stopped' | 'closed' | 'dropped' | 'misused';

export interface CarrierStreamHandlers {
  /** Handles the first `start`. Returns the reason to reject the stream, or undefined. */
  onStart(start: Extract<MediaEvent, { event: 'start' }>): string | undefined;
  onAudio(mulaw: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  onMark(name: string): void;
  /** Words that the caller typed. */
  onText(text: string): void;
  /** Called once when the stream ends for any reason, unless this server closed it. */
  onEnd(end: StreamEnd, detail: string): void;
  /** Called when this server closes the stream, also one that was lost meanwhile, but no other one that has ended. */
  onClose?(code: number): void;
}

/** How the stream of a carrier differs from the usual. */
export interface StreamOptions {
  /** A text message that was read from the socket before the stream was opened. */
  first?: Buffer;
  /** Further close codes by which the carrier's side ends the call. */
  orderlyCloseCodes?: readonly number[];
}

export interface CarrierStream extends PlaybackLine {
  /** Whether the other side's marks can be believed. */
  readonly hasTrustedMarks: boolean;
  /** Whether the caller can type words. */
  readonly takesText: boolean;
  /** Closes the socket with a close handshake. If the carrier does not answer it, the socket is destroyed. */
  close(code: number, reason: string): void;
}

/** With more unsent data than this (over a minute of audio), the carrier counts as lost, because it no longer reads. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Close codes of an orderly close. Any other code, including 1006 for a broken socket, means a lost connection. */
const CLOSED_IN_ORDER: ReadonlySet<number> = new Set([1000, 1005]);

/**
 * Reads and writes one media socket. Checks the order of messages, rate limits, and that the carrier still responds.
 */
export function openCarrierStream(
  socket: WebSocket,
  codec: MediaCodec,
  handlers: CarrierStreamHandlers,
  timings: StreamTimings = STREAM_TIMINGS,
  options: StreamOptions = {},
): CarrierStream {
  let state: 'connecting' | 'live' | 'ended' = 'connecting';
  let isLost = false;
  const limits = createReadLimits(socket);

  function end(how: StreamEnd, detail = ''): void {
    if (state === 'ended') return;
    state = 'ended';
    isLost = how === 'dropped';
    clearTimeout(startTimer);
    handlers.onEnd(how, detail);
  }

  function reject(code: number, reason: string): void {
    end('misused', reason);
    closeSocket(code, reason);
  }

  function closeSocket(code: number, reason: string): void {
    const farewell = codec.farewell?.(code, reason);
    if (farewell !== undefined) send(farewell);
    socket.close(code, reason);
  }

  function read(data: RawData, isBinary: boolean): void {
    if (!limits.isRead()) return;
    if (!limits.take()) throw new ProtocolViolation(1008, 'too many messages');
    // `data` is always a single Buffer, because the WebSocket's default binary type is unchanged.
    codec.decode(data as Buffer, isBinary, take);
  }

  function take(message: MediaEvent): void {
    if (state === 'ended') {
      if (message.event === 'media') throw new ProtocolViolation(1008, 'audio after stop');
      return;
    }
    if (state === 'connecting') readBeforeStart(message);
    else if (message.event === 'stop') end('stopped');
    else handle(message, handlers);
  }

  function readBeforeStart(message: MediaEvent): void {
    if (message.event === 'connected' || message.event === 'unknown') return;
    if (message.event !== 'start') throw new ProtocolViolation(1008, `${message.event} before start`);
    clearTimeout(startTimer);
    state = 'live';
    const rejection = handlers.onStart(message);
    if (rejection !== undefined) throw new ProtocolViolation(1008, rejection);
  }

  function send(message: string | Uint8Array): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      end('dropped', 'the carrier does not read our audio');
      socket.terminate();
      return;
    }
    socket.send(message);
  }

  const startTimer = setTimeout(() => reject(1008, 'no start message in time'), timings.startWithinMs);
  const liveness = watchLiveness(socket, timings.pingEveryMs, () => {
    end('dropped', 'no data from the carrier');
    socket.terminate();
  });

  // The ws library sends a pong for each ping, and reading pongs costs time, too. So both count towards the message limit.
  function countControlFrame(): void {
    if (limits.isRead() && !limits.take()) reject(1008, 'too many messages');
  }
  socket.on('ping', countControlFrame);
  socket.on('pong', countControlFrame);
  function receive(data: RawData, isBinary: boolean): void {
    try {
      read(data, isBinary);
    } catch (error) {
      if (error instanceof ProtocolViolation) reject(error.closeCode, error.message);
      else {
        end('misused', error instanceof Error ? error.message : String(error));
        closeSocket(1011, 'internal error');
      }
    }
  }

  socket.on('message', (data, isBinary) => {
    liveness.heard();
    receive(data, isBinary);
  });
  const { first, orderlyCloseCodes = [] } = options;
  // Later, because the handlers use the stream that this function returns.
  if (first !== undefined) queueMicrotask(() => receive(first, false));
  // The ws library closes the socket with a suitable code (1002, 1007, 1009), and the close event follows.
  socket.on('error', (error) => end('misused', error.message));
  socket.on('close', (code) => {
    const isOrderly = CLOSED_IN_ORDER.has(code) || orderlyCloseCodes.includes(code);
    end(isOrderly ? 'closed' : 'dropped', `close code ${code}`);
  });

  return {
    ...traitsOf(codec),
    media: (frame) => send(codec.media(frame)),
    mark: (name) => send(codec.mark(name)),
    clear: () => send(codec.clear()),
    close(code, reason) {
      // A connection that breaks while the call is being ended must not hide the end.
      const isNew = state !== 'ended' || isLost;
      state = 'ended';
      isLost = false;
      clearTimeout(startTimer);
      if (socket.readyState === socket.OPEN) closeSocket(code, reason);
      if (isNew) handlers.onClose?.(code);
    },
  };
}

function traitsOf(codec: MediaCodec): Pick<CarrierStream, 'hasTrustedMarks' | 'takesText'> {
  return { hasTrustedMarks: codec.isCustomers !== true, takesText: codec.takesText === true };
}

/** Passes an event of a running stream to its handler. */
function handle(message: MediaEvent, handlers: CarrierStreamHandlers): void {
  switch (message.event) {
    case 'media':
      return handlers.onAudio(message.mulaw, message.timestampMs);
    case 'dtmf':
      return handlers.onDtmf(message.digit);
    case 'mark':
      return handlers.onMark(message.name);
    case 'text':
      return handlers.onText(message.text);
    case 'unknown':
      return undefined;
    default:
      throw new ProtocolViolation(1008, `${message.event} in a running stream`);
  }
}
