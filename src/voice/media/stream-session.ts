import type { WebSocket } from 'ws';
import type { MediaCodec } from '../../telephony/media.js';
import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { StreamEnd, StreamTimings } from './carrier-stream.js';
import { openCarrierStream } from './carrier-stream.js';
import { startConversation } from '../session/conversation.js';
import type { Conversation, ConversationDeps } from '../session/conversation.js';
import type { Engine } from '../engines/port.js';

export interface StreamSession {
  /** Hands the call over to another stream: this one is closed, and what is known is kept. */
  handOver(why: string): void;
  /** The second of the call's talk at which it will be ended; undefined: none is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The call has ended without the talk. */
  callIsOver(): void;
  /** The carrier's detection heard who answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Socket closed, result stored, workflow told; or a bounded time has passed. */
  readonly over: Promise<void>;
}

export type StreamSessionDeps = Omit<ConversationDeps, 'stream' | 'streamId' | 'resumption' | 'engine'> & {
  socket: WebSocket;
  codec: MediaCodec;
  createEngine: () => Engine;
  /** The highest number that the call's workflow granted to a stream. */
  granted: number;
  timings: StreamTimings;
  /** Called with the number of the stream when it starts; false when another stream of the call has precedence. */
  takesPrecedence: (resumption: number) => boolean;
  /** The stream starts, or will not start any more. */
  onDecided: () => void;
};

/** The other side hung up, or the line is to blame. A line that was lost ends nothing. */
const REASON_OF_END: Record<Exclude<StreamEnd, 'dropped'>, MediaEndReason> = {
  stopped: 'carrier_stop',
  closed: 'carrier_stop',
  misused: 'media_failed',
};

/**
 * One admitted socket from its upgrade to its end. The conversation begins with the `start` that names the carrier's
 * call this socket was admitted for; a socket without one leaves no trace.
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
        // The signature of the call's first stream is good for any number, so whoever has it must not choose one.
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
