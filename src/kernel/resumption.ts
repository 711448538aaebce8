import type { CallState } from './call-state.js';

/** How often a call may get a new stream after it lost one. */
export const MAX_RESUMPTIONS = 3;

/** The number is the new stream's own: a media server takes only one that is higher than any it has met. */
export type ReconnectAnswer =
  | { decision: 'stream'; resumption: number }
  /** `limit`: the call would go on, but has lost too many streams. */
  | { decision: 'hang_up'; why: 'over' | 'limit' };

/** Whether a call that lost its stream goes on with a new one: only while nobody has ended it or asked for its end. */
export function answerReconnect(state: CallState): ReconnectAnswer {
  const { outcome, carrierEnd, mediaEnd, hangUpCause, resumptions = 0 } = state;
  const isOver = [outcome, carrierEnd, mediaEnd, hangUpCause].some((end) => end !== undefined);
  if (isOver) return { decision: 'hang_up', why: 'over' };
  if (resumptions >= MAX_RESUMPTIONS) return { decision: 'hang_up', why: 'limit' };
  return { decision: 'stream', resumption: resumptions + 1 };
}
