import type { WebSocket } from 'ws';
import type { MediaCodec } from '../../telephony/media.js';
import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { StreamEnd, StreamTimings } from './carrier-stream.js';
import { openCarrierStream } from './carrier-stream.js';
import { startConversation } from '../session/conversation.js';
import type { Conversation, ConversationDeps } from '../session/conversation.js';
import type { Engine } from '../engines/port.js';

export interface StreamSession {
  /** Hands the call over to another stream: closes this one and stores its progress. */
  handOver(why: string): void;
  /** When the call will be ended, in seconds from its first stream's start; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The call has ended, although its media stream is still open. */
  callIsOver(): void;
  /** The carrier's detection has reported who answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Resolves when the socket is closed and the result stored and reported, or after a bounded time. */
  readonly over: Promise<void>;
}

export type StreamSessionDeps = Omit<ConversationDeps, 'stream' | 'streamId' | 'resumption' | 'engine'> & {
  socket: WebSocket;
  codec: MediaCodec;
  createEngine: () => Engine;
  /** The highest stream number that the call's workflow has granted. */
  granted: number;
  timings: StreamTimings;
  /** Called with the stream number at `start`; false if another stream of the call takes precedence. */
  takesPrecedence: (resumption: number) => boolean;
  /** Called when the stream starts, or will not start any more. */
  onDecided: () => void;
};

/** End reason by kind of stream end. A lost connection does not end the call. */
const REASON_OF_END: Record<Exclude<StreamEnd, 'dropped'>, MediaEndReason> = {
  stopped: 'carrier_stop',
  closed: 'carrier_stop',
  misused: 'media_failed',
};

/**
 * Manages one admitted socket until its end. The conversation starts with a `start` message that names the carrier's
 * call of the admission; a socket without one leaves no trace.
 */
export function openStreamSession(deps: StreamSessionDeps): StreamSession {
  const { socket, codec, timings, granted, takesPrecedence, onDecided, createEngine, ...conversationDeps } = deps;
  const { carrierSid, earlier, logger } = deps;
  const callId = deps.request._id;
  let conversation: Conversation | undefined;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const stream = openCarrierStream(
    socket,
    codec,
    {
      onStart(start) {
        onDecided();
        if (start.carrierSid !== carrierSid) return 'not the call this stream was admitted for';
        if (!start.isTelephoneAudio) return 'audio must be 8 kHz mu-law, one channel';
        const { streamId, resumption } = start;
        // The signature of the first stream is valid for any stream number, so compare with the granted number.
        if (resumption > granted) return 'the call was granted no such stream';
        const follows = earlier === null || resumption > (earlier.resumptions ?? 0);
        if (!follows || !takesPrecedence(resumption)) return 'the call has its stream';
        const engine = createEngine();
        conversation = startConversation({ ...conversationDeps, engine, stream, streamId, resumption });
        void conversation.over.then(settle);
        return undefined;
      },
      onAudio: (mulaw, timestampMs) => conversation?.hear(mulaw, timestampMs),
      onDtmf: (digit) => conversation?.onDtmf(digit),
      onMark: (name) => conversation?.onMark(name),
      onEnd(end, detail) {
        logger.info({ callId, end, detail }, 'the carrier ended the stream');
        if (conversation === undefined) {
          onDecided();
          settle();
        } else if (end === 'dropped') void conversation.suspend(detail);
        else void conversation.end(REASON_OF_END[end]);
      },
    },
    timings,
  );

  return {
    handOver(why) {
      if (conversation !== undefined) void conversation.suspend(why);
      else {
        stream.close(1001, why);
        onDecided();
        settle();
      }
    },
    endsAfter: (seconds) => conversation?.endsAfter(seconds),
    callIsOver: () => void conversation?.end('carrier_stop'),
    onAnsweredBy: (who) => conversation?.onAnsweredBy(who),
    over,
  };
}
