import { bargeIn } from './barge-in.js';
import { onClosingReplyOver } from './closing.js';
import type { SessionEvent } from './events.js';
import { armFiller, callerWaits } from './filler.js';
import { beginReply, cancelReply } from './replies.js';
import { hasPlenty, leftAt, withOneTaken } from './reply-budget.js';
import { mustIntroduce } from './resume.js';
import { callerHeard } from './silence.js';
import {
  inOrder,
  isClosing,
  isReplyRunning,
  startsReplies,
  without,
  withoutAwaited,
  type SessionState,
  type SessionStep,
} from './state.js';

/*
 * Providers that detect turns and start replies: they answer the caller by themselves after each turn. Input from the
 * phone and from tools is answered on request.
 */

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** End of a caller's turn: the provider replies by itself, or on request while it must not. */
export function onTurnOver(state: SessionState, { endMs, atMs }: EventOf<'turn_over'>): SessionStep {
  const over = callerHeard(withoutVoice(state, atMs), atMs);
  if (isClosing(over)) return [over, []];
  return inOrder(bargeIn(over, atMs), (next) => {
    const waiting = callerWaits(next, { sinceMs: endMs, knownMs: atMs });
    return next.provider.answers ? awaited(waiting, atMs) : beginReply(waiting, atMs);
  });
}

/** Stores the transcript of a turn; the provider began its reply without waiting for it. */
export function onTurnWords(state: SessionState, { text, startMs, endMs }: EventOf<'turn_words'>): SessionStep {
  return [
    { ...state, turns: { ...state.turns, byPerson: state.turns.byPerson + 1 } },
    [{ type: 'store_turn', speaker: 'caller', text, startMs, endMs }],
  ];
}

/** The provider began a reply by itself. It covers everything that a further reply was requested for. */
export function onReplyBegun(state: SessionState, { replyId, atMs }: EventOf<'reply_begun'>): SessionStep {
  const replies = withOneTaken(state.replies, state.setup.policy.replies, atMs);
  const counted = withoutAwaited({ ...state, replies });
  if (isClosing(state)) return [counted, [{ type: 'cancel_reply', replyId }]];
  const kind = mustIntroduce(state) ? 'introduction' : 'reply';
  return inOrder(state.reply?.running === true ? cancelReply(counted) : counted, (next) => ({
    ...next,
    mustWrapUp: false,
    isReplyDue: false,
    reply: { id: replyId, kind, confirmed: true, running: true, hasAudio: false },
  }));
}

/** The provider did not begin the reply it owed: request one. */
export function onReplyMissed(state: SessionState, atMs: number): SessionStep {
  return state.provider.awaitedSinceMs === undefined ? [state, []] : onReplyWanted(withoutAwaited(state), atMs);
}

/** Requests a reply after the one in progress, unless the caller speaks, who is answered anyway. */
export function onReplyWanted(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.turns.isOpen) return [state, []];
  return isReplyRunning(state) ? [{ ...state, isReplyDue: true }, []] : beginReply(state, atMs);
}

/** Connection lost: the current reply is canceled, and the end of the caller's current turn will not be reported. */
export function onProviderLost(state: SessionState, atMs: number): SessionStep {
  const lost = withoutAwaited(without(withoutVoice(state, atMs), 'reply'));
  if (isClosing(state)) return state.reply === undefined ? [lost, []] : onClosingReplyOver(lost, state.reply.id);
  return [awaited(lost, atMs), []];
}

/** Connection restored: request the reply that is owed, unless another one was requested meanwhile. */
export function onProviderBack(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.provider.awaitedSinceMs === undefined) return [state, []];
  return beginReply(withoutAwaited(state), atMs);
}

/** Updates whether the provider may reply by itself: not during the closing, nor while replies are scarce. */
export function tellWhetherToAnswer(state: SessionState, atMs: number): SessionStep {
  if (!startsReplies(state) || state.stopped) return [state, []];
  const { provider, replies, setup } = state;
  const policy = setup.policy.replies;
  const isScarce = provider.isScarce
    ? leftAt(replies, policy, atMs) < policy.atOnce - policy.reserve
    : !hasPlenty(replies, policy, atMs);
  const answers = !isClosing(state) && !isScarce;
  if (isScarce === provider.isScarce && answers === provider.answers) return [state, []];
  const next = { ...state, provider: { ...provider, isScarce, answers } };
  return [next, answers === provider.answers ? [] : [{ type: 'let_provider_answer', answers }]];
}

function awaited(state: SessionState, atMs: number): SessionState {
  const { provider } = state;
  const owed = { ...without(state, 'reply'), isReplyDue: false, provider: { ...provider, awaitedSinceMs: atMs } };
  return armFiller(owed, atMs);
}

function withoutVoice(state: SessionState, atMs: number): SessionState {
  const { voice, ...turns } = state.turns;
  const lastVoiceAtMs = voice === undefined ? turns.lastVoiceAtMs : atMs;
  return { ...state, turns: { ...turns, isOpen: false, isVoiced: false, lastVoiceAtMs } };
}
