/** How long the service keeps a call whose connection was lost, in ms. */
const RECONNECT_WITHIN_MS = 30_000;
const LONGEST_PAUSE_MS = 2_000;

/** The state of a web call's connection. `token` admits the next socket. */
export type TalkState =
  | { phase: 'connecting' | 'talking'; token: string }
  | { phase: 'lost'; token: string; sinceMs: number; attempts: number }
  | { phase: 'ended'; reason: string };

export type TalkEvent =
  | { event: 'ready'; reconnect_token: string }
  | { event: 'reconnect_token'; token: string }
  /** `reconnect`: the call continues on another socket. */
  | { event: 'ended'; reason: 'call_ended' | 'reconnect' | 'replaced' | 'rejected' | 'failed' | 'hung_up' }
  /** The socket closed without `ended`, or could not be opened. */
  | { event: 'closed'; nowMs: number };

/**
 * Applies an event to the state of a connection. A lost connection is tried again for 30 s, also the first one: if the
 * service has admitted its token, it rejects the next attempt, and the call has ended.
 */
export function reduceTalk(state: TalkState, event: TalkEvent): TalkState {
  if (state.phase === 'ended') return state;
  switch (event.event) {
    case 'ready':
      return { phase: 'talking', token: event.reconnect_token };
    case 'reconnect_token':
      return { ...state, token: event.token };
    case 'ended':
      return event.reason === 'reconnect' ? state : { phase: 'ended', reason: event.reason };
    case 'closed':
      return afterLoss(state, event.nowMs);
  }
}

function afterLoss(state: Exclude<TalkState, { phase: 'ended' }>, nowMs: number): TalkState {
  const { token } = state;
  const { sinceMs, attempts } = state.phase === 'lost' ? state : { sinceMs: nowMs, attempts: -1 };
  if (nowMs - sinceMs >= RECONNECT_WITHIN_MS) return { phase: 'ended', reason: 'connection_lost' };
  return { phase: 'lost', token, sinceMs, attempts: attempts + 1 };
}

/** Returns the pause before the next attempt to connect, in ms. */
export function pauseBeforeAttempt({ attempts }: { attempts: number }): number {
  return Math.min(LONGEST_PAUSE_MS, 250 * 2 ** attempts);
}
