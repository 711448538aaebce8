import type { WebSocket } from 'ws';
import type { AnsweredBy, MediaEndReason } from '../domain/call-state.js';
import type { StreamEnd, StreamTimings } from './carrier-stream.js';
import { openCarrierStream } from './carrier-stream.js';
import { startConversation } from './conversation.js';
import type { Conversation, ConversationDeps } from './conversation.js';

export interface StreamSession {
  /** Cuts the call off, by our own fault. */
  abort(): void;
  /** The second of the stream at which the call will be ended; undefined: none is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The carrier's detection heard who answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Socket closed, result stored, workflow told; or a bounded time has passed. */
  readonly over: Promise<void>;
}

/** The other side hung up, or the line is to blame. */
const REASON_OF_END: Record<StreamEnd, MediaEndReason> = {
  stopped: 'carrier_stop',
  closed: 'carrier_stop',
  dropped: 'media_failed',
  misused: 'media_failed',
};

/**
 * One admitted socket from its upgrade to its end. The conversation begins with the `start` that names the carrier's
 * call this socket was admitted for; a socket without one leaves no trace.
 */
export function openStreamSession(
  deps: Omit<ConversationDeps, 'stream' | 'streamSid'> & { socket: WebSocket; timings: StreamTimings },
): StreamSession {
  const { socket, timings, ...conversationDeps } = deps;
  const { carrierSid, logger } = deps;
  const callId = deps.request._id;
  let conversation: Conversation | undefined;
  /** Told before the stream had begun. */
  let answeredBy: AnsweredBy | undefined;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const stream = openCarrierStream(
    socket,
    {
      onStart(start) {
        if (start.carrierSid !== carrierSid) return 'not the call this stream was admitted for';
        if (!start.isTelephoneAudio) return 'audio must be 8 kHz mu-law, one channel';
        conversation = startConversation({ ...conversationDeps, stream, streamSid: start.streamSid });
        void conversation.over.then(settle);
        if (answeredBy !== undefined) conversation.onAnsweredBy(answeredBy);
        return undefined;
      },
      onAudio: (mulaw, timestampMs) => conversation?.hear(mulaw, timestampMs),
      onDtmf: (digit) => conversation?.onDtmf(digit),
      onMark: (name) => conversation?.onMark(name),
      onEnd(end, detail) {
        logger.info({ callId, end, detail }, 'the carrier ended the stream');
        if (conversation === undefined) settle();
        else void conversation.end(REASON_OF_END[end]);
      },
    },
    timings,
  );

  return {
    abort() {
      if (conversation !== undefined) void conversation.end('media_failed');
      else {
        stream.close(1001, 'shutting down');
        settle();
      }
    },
    endsAfter: (seconds) => conversation?.endsAfter(seconds),
    onAnsweredBy(who) {
      answeredBy = who;
      conversation?.onAnsweredBy(who);
    },
    over,
  };
}
