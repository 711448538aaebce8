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
 * A provider that hears turns and starts replies: it answers the caller by itself after each turn. What the telephone and
 * tools tell it is answered when it is asked to.
 */

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** The caller has finished: the provider answers by itself, or is asked to where it must not. */
export function onTurnOver(state: SessionState, { endMs, atMs }: EventOf<'turn_over'>): SessionStep {
  const over = callerHeard(withoutVoice(state, atMs), atMs);
  if (isClosing(over)) return [over, []];
  return inOrder(bargeIn(over, atMs), (next) => {
    const waiting = callerWaits(next, { sinceMs: endMs, knownMs: atMs });
    return next.provider.answers ? awaited(waiting, atMs) : beginReply(waiting, atMs);
  });
}

/** The words of a turn have come; its answer was begun without them. */
export function onTurnWords(state: SessionState, { text, startMs, endMs }: EventOf<'turn_words'>): SessionStep {
  return [
    { ...state, turns: { ...state.turns, byPerson: state.turns.byPerson + 1 } },
    [{ type: 'store_turn', speaker: 'caller', text, startMs, endMs }],
  ];
}

/** The provider began a reply by itself; it knows of everything that another one would be asked for. */
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

/** The provider does not begin the reply it owes: it is asked for one. */
export function onReplyMissed(state: SessionState, atMs: number): SessionStep {
  return state.provider.awaitedSinceMs === undefined ? [state, []] : onReplyWanted(withoutAwaited(state), atMs);
}

/** The model is to go on: when it has made what it is making, and unless the caller speaks, who is answered in any case. */
export function onReplyWanted(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.turns.isOpen) return [state, []];
  return isReplyRunning(state) ? [{ ...state, isReplyDue: true }, []] : beginReply(state, atMs);
}

/** The provider went away: what it has not said it will not say, and what the caller says now it will not hear end. */
export function onProviderLost(state: SessionState, atMs: number): SessionStep {
  const lost = withoutAwaited(without(withoutVoice(state, atMs), 'reply'));
  if (isClosing(state)) return state.reply === undefined ? [lost, []] : onClosingReplyOver(lost, state.reply.id);
  return [awaited(lost, atMs), []];
}

/** The provider is there again and goes on, unless it was asked for something else meanwhile. */
export function onProviderBack(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.provider.awaitedSinceMs === undefined) return [state, []];
  return beginReply(withoutAwaited(state), atMs);
}

/** Tells the provider when it may answer by itself: not once the end is decided, nor while replies are scarce. */
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
