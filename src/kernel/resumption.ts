import type { CallState } from './call-state.js';

/** Maximum new media streams for a call after its stream was lost. */
export const MAX_RESUMPTIONS = 3;
/**
 * Maximum new media streams that replace streams which never started, because the media server was full or stopping.
 */
export const MAX_UNSTARTED_STREAMS = 5;
/** Highest stream number; the first stream of a call is 0. */
export const MAX_STREAM_NUMBER = MAX_RESUMPTIONS + MAX_UNSTARTED_STREAMS;

/**
 * Whether a call that lost its media stream continues. `resumption` is the number of the new stream. A media server
 * accepts a stream only if its number is higher than all earlier ones of the call.
 */
export type ReconnectDecision =
  | { decision: 'stream'; resumption: number }
  /** `over`: the call has ended or is ending. `limit`: too many streams were lost or never started. */
  | { decision: 'hang_up'; why: 'over' | 'limit' };

/**
 * Decides whether a call that lost its media stream reconnects: only if it has not ended and no hang-up was requested.
 * @param neverStarted true if no media server accepted the stream
 */
export function decideReconnect(state: CallState, neverStarted = false): ReconnectDecision {
  const { outcome, carrierEnd, mediaEnd, hangUpCause, resumptions = 0, refusedStreams = 0 } = state;
  const isOver = [outcome, carrierEnd, mediaEnd, hangUpCause].some((end) => end !== undefined);
  if (isOver) return { decision: 'hang_up', why: 'over' };
  const isLimit = neverStarted
    ? refusedStreams >= MAX_UNSTARTED_STREAMS
    : resumptions - refusedStreams >= MAX_RESUMPTIONS;
  if (isLimit) return { decision: 'hang_up', why: 'limit' };
  return { decision: 'stream', resumption: resumptions + 1 };
}
