import type { CallState } from './call-state.js';

/** Maximum new media streams for a call after its stream was lost. */
export const MAX_RESUMPTIONS = 3;
/**
 * Maximum new media streams that replace streams which never started, because the media server was full or stopping.
 */
export const MAX_UNSTARTED_STREAMS = 5;
/**
 * Maximum new media streams that replace streams which a media server closed because it stops. A call of four hours can
 * live through several deployments.
 */
export const MAX_PLANNED_RESUMPTIONS = 20;
/** Highest stream number; the first stream of a call is 0. */
export const MAX_STREAM_NUMBER = MAX_RESUMPTIONS + MAX_UNSTARTED_STREAMS + MAX_PLANNED_RESUMPTIONS;

/**
 * Why a stream ended although the call continues. `never_started`: no media server accepted it. `planned`: the media
 * server recorded that it would close it, because it stops. `lost`: anything else.
 */
export type StreamLoss = 'lost' | 'never_started' | 'planned';

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
 */
export function decideReconnect(state: CallState, loss: StreamLoss = 'lost'): ReconnectDecision {
  const { outcome, carrierEnd, mediaEnd, hangUpCause, resumptions = 0 } = state;
  const isOver = [outcome, carrierEnd, mediaEnd, hangUpCause].some((end) => end !== undefined);
  if (isOver) return { decision: 'hang_up', why: 'over' };
  if (isLimitReached(state, loss)) return { decision: 'hang_up', why: 'limit' };
  return { decision: 'stream', resumption: resumptions + 1 };
}

/** Number of the last stream before the first one. */
export const NO_STREAM = -1;

/**
 * Returns when we gave the call up; undefined if we did not, or if it continues in a stream of a later number. The process
 * that gives a call up may be cut off, so that the carrier asks another one instead, which continues the call.
 */
export function givenUpAt(state: CallState): number | undefined {
  const { resumptions, mediaStartedAt, givenUpAfter = Infinity } = state;
  const lastStream = resumptions ?? (mediaStartedAt === undefined ? NO_STREAM : 0);
  return lastStream > givenUpAfter ? undefined : state.givenUpAt;
}

/** Each kind of loss has a separate count. */
function isLimitReached(
  { resumptions = 0, refusedStreams = 0, plannedResumptions = 0 }: CallState,
  loss: StreamLoss,
): boolean {
  if (loss === 'never_started') return refusedStreams >= MAX_UNSTARTED_STREAMS;
  if (loss === 'planned') return plannedResumptions >= MAX_PLANNED_RESUMPTIONS;
  return resumptions - refusedStreams - plannedResumptions >= MAX_RESUMPTIONS;
}
