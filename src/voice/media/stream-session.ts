import type { WebSocket } from 'ws';
import type { MediaCodec } from '../../telephony/media.js';
import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { StreamEnd, StreamOptions, StreamTimings } from './carrier-stream.js';
import { openCarrierStream } from './carrier-stream.js';
import { startCallSession } from '../session/call-session.js';
import type { CallSession, CallSessionDeps } from '../session/call-session.js';
import type { Engine } from '../engines/port.js';

export interface StreamSession {
  /** Closes this stream and stores its progress, so that another stream can continue the call. */
  suspend(why: string): void;
  /** When the call will be ended, in seconds from its first stream's start; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** Call this when the call has ended although its media stream is still open. */
  callIsOver(): void;
  /** Call this when the carrier's detection has reported whether a person or a machine answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Call this with whether somebody watches the call. */
  setWatched(isWatched: boolean): void;
  /** Whether the socket carries the call; false when it has ended, even if its data is still being stored. */
  isOpen(): boolean;
  /** Resolves when the socket is closed and the result stored and reported, or after a bounded time. */
  readonly over: Promise<void>;
}

export type StreamSessionDeps = Omit<CallSessionDeps, 'stream' | 'streamId' | 'resumption' | 'engine'> & {
  socket: WebSocket;
  codec: MediaCodec;
  createEngine: () => Engine;
  /** The highest stream number that the call's workflow has granted. */
  granted: number;
  timings: StreamTimings;
  options?: StreamOptions;
  /** Called once when the socket is closing: how the carrier's side ended, or the code with which this server closed it. */
  onClosed?: (how: { end: StreamEnd } | { code: number }) => void;
  /** Called with the stream number at `start`; false if another stream of the call takes precedence. */
  takesPrecedence: (resumption: number) => boolean;
  /** Called once, when the stream starts or can no longer start. */
  onDecided: () => void;
};

/** The end reason of a call by how its stream ended. A lost connection does not end the call. */
const REASON_OF_END: Record<Exclude<StreamEnd, 'dropped'>, MediaEndReason> = {
  stopped: 'carrier_stop',
  closed: 'carrier_stop',
  misused: 'media_failed',
};

/**
 * Manages one admitted socket until its end. The conversation starts when a `start` message names the carrier call that
 * was admitted. Without that message, nothing is stored.
 */
export function openStreamSession(deps: StreamSessionDeps): StreamSession {
  const { socket, codec, timings, granted, takesPrecedence, onDecided, createEngine, ...callSessionDeps } = deps;
  const { options, onClosed } = deps;
  const { carrierSid, earlier, logger } = deps;
  const callId = deps.request._id;
  let callSession: CallSession | undefined;
  let isOpen = true;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const stream = openCarrierStream(
    socket,
    codec,
    {
      onStart(start) {
        onDecided();
        if (start.carrierSid !== carrierSid) return 'start names another carrier call';
        if (!start.isTelephoneAudio) return 'audio must be 8 kHz mu-law, one channel';
        const { streamId, streamNumber: resumption } = start;
        // The signature of the first stream is valid for any stream number, so compare with the granted number.
        if (resumption > granted) return 'the stream number was not granted';
        const follows = earlier === null || resumption > (earlier.resumptions ?? 0);
        if (!follows || !takesPrecedence(resumption)) return 'the call already has a media stream';
        const engine = createEngine();
        callSession = startCallSession({ ...callSessionDeps, engine, stream, streamId, resumption });
        void callSession.over.then(settle);
        return undefined;
      },
      onAudio: (mulaw, timestampMs) => callSession?.hear(mulaw, timestampMs),
      onDtmf: (digit) => callSession?.onDtmf(digit),
      onMark: (name) => callSession?.onMark(name),
      onText: (text) => callSession?.onText(text),
      onEnd(end, detail) {
        logger.info({ callId, end, detail }, 'carrier stream ended');
        isOpen = false;
        onClosed?.({ end });
        if (callSession === undefined) {
          onDecided();
          settle();
        } else if (end === 'dropped') void callSession.suspend(detail);
        else void callSession.end(REASON_OF_END[end]);
      },
      onClose: (code) => onClosed?.({ code }),
    },
    timings,
    options,
  );

  return {
    suspend(why) {
      isOpen = false;
      if (callSession !== undefined) void callSession.suspend(why);
      else {
        stream.close(1001, why);
        onDecided();
        settle();
      }
    },
    endsAfter: (seconds) => callSession?.endsAfter(seconds),
    callIsOver: () => void callSession?.end('carrier_stop'),
    onAnsweredBy: (who) => callSession?.onAnsweredBy(who),
    setWatched: (isWatched) => callSession?.setWatched(isWatched),
    isOpen: () => isOpen,
    over,
  };
}
